"""``lightloom bench pages``: the tables of pages, made from stored answers."""

from __future__ import annotations

from pathlib import Path

import click

from lightloom.cli.bench import BENCH_SUMMARIES
from lightloom.cli.console import say
from lightloom.cli.failure import INVALID
from lightloom.cli.output_paths import check_output
from lightloom.core.errors import InputError


@click.command(
    "pages",
    help=BENCH_SUMMARIES["pages"]
    + "\n\nEach PAGE is a Markdown file. A table stands between a comment that says in"
    " TOML what it shows, behind `<!-- table`, and `<!-- table ends -->`. It is made"
    " from the answers of the golden cells, or from a CSV file that --store wrote. Exit"
    " code 1 if --check finds a page that is not what the answers say.",
)
@click.argument("pages", metavar="PAGE...", nargs=-1)
@click.option("--check", is_flag=True, help="Write nothing; say which pages are old.")
@click.option(
    "--store",
    nargs=2,
    metavar="RESULTS FILE",
    help="Store what the rows of RESULTS came to as FILE first.",
)
@click.pass_context
def command(
    ctx: click.Context,
    pages: tuple[str, ...],
    store: tuple[str, str] | None,
    *,
    check: bool,
) -> None:
    """Store answers, and renew the pages or say which are old."""
    from lightloom.bench.golden import answers_text
    from lightloom.bench.pages import rewritten, stored_answers
    from lightloom.bench.results import read_results
    from lightloom.formats.atomic import atomic_write
    from lightloom.formats.text_file import read_text

    if not pages and store is None:
        raise InputError("nothing to do", fix="name pages, or --store RESULTS FILE")
    if store is not None:
        results, path = store
        check_output(path, "--store", results, compressible=False)
        answers = stored_answers(read_results(results))
        with atomic_write(path) as file:
            file.write(answers_text(answers).encode())
        say(f"wrote {path}: {len(answers)} answers")
    old = False
    for page in pages:
        before = read_text(page)
        after = rewritten(before, Path(page))
        if after == before:
            continue
        old = True
        if check:
            say(f"{page}: tables differ from the stored answers")
            continue
        with atomic_write(page) as file:
            file.write(after.encode())
        say(f"wrote {page}")
    if check and old:
        ctx.exit(INVALID)
