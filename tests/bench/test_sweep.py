"""Sweeps: no row is lost, none is made twice, and workers may go."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from lightloom.bench import sweep as workers_module
from lightloom.bench.results import Ending, ResultsFile, read_results
from lightloom.bench.sweep import connected, local_workers, pending, sweep
from lightloom.core.errors import InputError
from lightloom.isolation.process_tree import descendants
from tests.bench.faulty import MARKER
from tests.bench.suites import forget_code_version, suite_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from distributed import Client

    from lightloom.bench.job import BenchJob
    from lightloom.bench.sweep import Workers

# A worker that is killed leaves its sockets to the collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@contextlib.contextmanager
def dask_cluster(workers: int) -> Iterator[Client]:
    """Start a Dask cluster of processes of this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any port; the default may be taken
            scheduler_kwargs={"dashboard": False},
            memory_limit=0,  # runs have limits of their own
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Two workers."""
    with dask_cluster(2) as found:
        yield found


@pytest.fixture(params=["local", "dask"])
def workers(request: pytest.FixtureRequest) -> Iterator[Workers]:
    """Two workers of each kind."""
    if request.param == "local":
        with local_workers(2) as found:
            yield found
    else:
        client = request.getfixturevalue("client")
        with connected(client.scheduler.address) as found:
            yield found


def tiny_jobs(folder: Path, count: int, solver: str = "tiny") -> tuple[BenchJob, ...]:
    """Return jobs that take no time."""
    by = [f"tests.bench.faulty:{solver}"]
    return suite_of(folder, by=by, seeds=list(range(count))).jobs


def test_every_job_gets_a_row_and_none_a_second_one(
    workers: Workers, tmp_path: Path
) -> None:
    """An interrupted sweep goes on where it stopped; the file says the same."""
    jobs = tiny_jobs(tmp_path, 12)
    path = tmp_path / "results.jsonl"
    told: list[str] = []
    with ResultsFile(path) as file:
        sweep(jobs[:5], file, workers, lambda row: told.append(row.key))
    assert sorted(told) == sorted(job.key for job in jobs[:5])
    with ResultsFile(path) as file:
        rest = pending(jobs, file.rows)
        assert rest == jobs[5:]
        sweep(rest, file, workers)
    rows = read_results(path)
    assert sorted(row.key for row in rows) == sorted(job.key for job in jobs)
    assert pending(jobs, rows) == ()


def test_an_interrupted_sweep_leaves_nothing_running(tmp_path: Path) -> None:
    """Its runs end with it, and their processes; rows so far are kept."""
    jobs = (*tiny_jobs(tmp_path, 1), *tiny_jobs(tmp_path, 2, "sleeper"))
    path = tmp_path / "results.jsonl"

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    before = {process.pid for process in descendants(os.getpid())}
    with (
        pytest.raises(KeyboardInterrupt),
        ResultsFile(path) as file,
        local_workers(2) as workers,
    ):
        sweep(jobs, file, workers, interrupt)
    assert len(read_results(path)) == 1
    after = {process.pid for process in descendants(os.getpid())}
    assert len(after - before) <= 1  # the fork server of the first run waits


def test_a_killed_worker_loses_no_row(client: Client, tmp_path: Path) -> None:
    """Its runs are given to others, while it is replaced."""
    jobs = tiny_jobs(tmp_path, 24)
    kill_in_the_middle(client, jobs, tmp_path / "results.jsonl", after=6)


@pytest.mark.slow
def test_a_thousand_runs_survive_a_killed_worker(
    client: Client, tmp_path: Path
) -> None:
    """The same with a thousand runs and two workers, one killed twice."""
    jobs = tiny_jobs(tmp_path, 1000)
    kill_in_the_middle(client, jobs, tmp_path / "results.jsonl", after=300)


def kill_in_the_middle(
    client: Client, jobs: tuple[BenchJob, ...], path: Path, after: int
) -> None:
    """Sweep, and kill a worker after some rows and again after twice as many."""
    done = threading.Semaphore(0)
    killed: list[int] = []

    def kill() -> None:
        for _ in range(2):
            for _ in range(after):
                done.acquire()
            pids = client.run(os.getpid)
            killed.append(pids[min(pids)])
            os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with connected(client.scheduler.address) as workers, ResultsFile(path) as file:
        sweep(jobs, file, workers, lambda _: done.release())
    killer.join()
    assert len(killed) == 2
    rows = read_results(path)
    assert sorted(row.key for row in rows) == sorted(job.key for job in jobs)
    assert {row.finding.ending for row in rows} <= {Ending.OPTIMAL, Ending.ANSWER}


@pytest.mark.slow
def test_a_run_whose_worker_is_lost_is_given_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that killed its worker is tried again and answers."""
    monkeypatch.setenv(MARKER, str(tmp_path / "killed"))
    jobs = tiny_jobs(tmp_path, 3, "kills_a_worker_once")
    with (
        dask_cluster(1) as client,
        connected(client.scheduler.address) as alone,
        ResultsFile(tmp_path / "results.jsonl") as file,
    ):
        rows = sweep(jobs, file, alone)
    assert (tmp_path / "killed").exists()
    assert sorted(row.seed for row in rows) == [0, 1, 2]
    assert all(row.solved for row in rows)


@pytest.mark.slow
def test_a_run_that_loses_every_worker_is_a_row(tmp_path: Path) -> None:
    """It is told, and asked again by the next sweep."""
    import dask

    jobs = tiny_jobs(tmp_path, 1, "kills_its_worker")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        dask_cluster(1) as client,
        connected(client.scheduler.address) as alone,
        ResultsFile(tmp_path / "results.jsonl") as file,
    ):
        (row,) = sweep(jobs, file, alone)
    assert row.finding.ending is Ending.LOST
    assert pending(jobs, read_results(tmp_path / "results.jsonl")) == jobs


def test_an_existing_cluster_is_used(client: Client, tmp_path: Path) -> None:
    """An address is enough; its workers run the same code."""
    forget_code_version()
    client.run(forget_code_version)
    jobs = tiny_jobs(tmp_path, 3)
    with (
        connected(client.scheduler.address) as again,
        ResultsFile(tmp_path / "results.jsonl") as file,
    ):
        assert len(sweep(jobs, file, again)) == 3


def test_workers_of_another_version_are_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of one sweep are made by one code."""
    forget_code_version()
    client.run(forget_code_version)
    here = {**workers_module.worker_versions(), "lightloom": "0.0.0+other"}
    monkeypatch.setattr(workers_module, "worker_versions", worker_versions_there)
    with connected(client.scheduler.address):
        pass
    monkeypatch.setattr("tests.bench.test_sweep.HERE", here)
    with (
        pytest.raises(InputError, match="another version of lightloom"),
        connected(client.scheduler.address),
    ):
        pass


HERE: dict[str, str | None] | None = None


def worker_versions_there() -> dict[str, str | None]:
    """Return the true versions at the workers, and what the test says here."""
    from lightloom.bench.results import worker_versions

    return HERE or worker_versions()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:{port}", "nonsense:{port}"])
def test_a_scheduler_that_does_not_answer_is_told_in_time(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port where nobody listens, and no address at all."""
    monkeypatch.setattr(workers_module, "_ANSWER_S", 1.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        pytest.raises(InputError, match="scheduler"),
        connected(address.format(port=port)),
    ):
        pass


def test_a_scheduler_that_is_no_scheduler_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Something listens there, and says nothing."""
    monkeypatch.setattr(workers_module, "_ANSWER_S", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        with (
            pytest.raises(InputError, match="does not answer"),
            connected(f"tcp://127.0.0.1:{port}"),
        ):
            pass
