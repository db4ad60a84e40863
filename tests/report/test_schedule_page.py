"""Pages of schedules: whole in one file, and every control works in a browser."""

from __future__ import annotations

import functools
import itertools
import json
import re
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lightloom as ll
from lightloom.core.columns import column
from lightloom.core.fabric import PacketFabric
from lightloom.instances.fabrics import load_fabric
from lightloom.report.schedule_page.fabric_drawing import link_view
from tests.cli.program import run
from tests.report.turns import in_turns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver.chrome.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement

_FEW = 3 * 2**20
_BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
_DRIVER = shutil.which("chromedriver")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1300,1500",
)


@functools.cache
def page_of(name: str, algorithm: str = "auto") -> str:
    """Return the page of a schedule of a named instance."""
    return ll.show(ll.synthesise(name, algorithm).schedule).html


def data_of(page: str) -> dict[str, Any]:
    """Return the data inside a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_a_page_says_what_the_replay_says() -> None:
    """Times, pairs and circuits are those of the schedule; it asks for nothing."""
    made = ll.synthesise("lightpath-16/all-reduce-1MiB", "lumorph-4")
    page = ll.show(made.schedule)
    data, timeline = data_of(page.html), ll.replay(made.schedule)
    assert [step[:2] for step in data["steps"]] == [
        [step.release_ps, step.end_ps] for step in timeline.steps
    ]
    assert sum(data["pairs"]["bytes"]) == int(timeline.pairs.bytes.sum())
    circuits = sum(len(segment["src"]) for segment in data["segments"])
    assert circuits == made.schedule.circuit_count
    assert data["layout"]["shape"] == "grid"
    for step, parts in zip(timeline.steps, data["shares"]["steps"], strict=True):
        assert sum(parts) == 16 * step.duration_ps
    assert [one["label"] for one in data["used"]] == [
        *("all nodes", "busiest edge", "mean edge"),
    ]
    share = data["used"][0]["bins"]
    moved = sum(share) / len(share) * timeline.utilisation.possible
    assert moved == pytest.approx(timeline.utilisation.moved, rel=0.01)
    for word in ("http:", "https:", "@import", "url("):
        assert word not in page.html
    assert "default-src 'none'" in page.html
    assert page.html == ll.show(made.schedule).html
    assert "iframe" in page._repr_html_()


@pytest.mark.parametrize(
    ("name", "algorithm", "labels"),
    [
        ("ideal-switch-4/all-to-all-16MiB", "direct", 3),
        ("ring-16/all-gather-1MiB", "ring", 3),
        ("ocs-16/all-to-all-16MiB", "direct", 19),
    ],
)
def test_use_of_edges_is_what_they_carry(
    name: str, algorithm: str, labels: int
) -> None:
    """The busiest edge sends all the time that the step's slowest pair sends."""
    schedule = ll.synthesise(name, algorithm).schedule
    used = data_of(ll.show(schedule).html)["used"]
    assert len(used) == labels
    busiest, mean = (one["steps"] for one in used[-2:])
    pairs = ll.replay(schedule).pairs
    for step, share in zip(ll.replay(schedule).steps, busiest, strict=True):
        lasts = step.end_ps - step.release_ps
        sends = int((pairs.end_ps - pairs.start_ps)[pairs.step == step.index].max())
        alpha = int(schedule.fabric["alpha_ps"])
        assert share == pytest.approx((sends - alpha) / lasts, abs=2e-4)
    assert all(0 < one <= most for one, most in zip(mean, busiest, strict=True))


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "ideal-switch", "nodes": 5},
        {"kind": "electrical-cluster", "nodes": 23, "nodes_per_server": 4},
        {"kind": "fat-tree", "nodes": 23, "nodes_per_leaf": 3, "leaves_per_pod": 3},
        {"kind": "fat-tree", "nodes": 8, "nodes_per_leaf": 4},
        {"kind": "superpod", "nodes": 23, "gpus_per_server": 3, "servers_per_unit": 2},
        {"kind": "bcube", "radix": 3, "level": 2},
        {"kind": "torus", "rows": 3, "cols": 4, "layers": 2},
        {"kind": "topoopt", "nodes": 16},
    ],
)
def test_the_links_that_packets_cross_are_a_way(table: dict[str, Any]) -> None:
    """Drawn one after the other they lead from each node to any other."""
    fabric = load_fabric(table)
    assert isinstance(fabric, PacketFabric)
    view = link_view(fabric.table())
    assert view is not None
    graph, nodes = view.graph, fabric.node_count
    switches = sum(count for _, count in graph.tiers)
    assert set(graph.tail.tolist()) == set(range(nodes + switches))
    assert len(view.spots) in (0, nodes + switches)
    ends = dict(
        zip(
            graph.link.tolist(),
            zip(graph.tail.tolist(), graph.head.tolist(), strict=True),
            strict=True,
        )
    )
    assert len(ends) == len(graph.link)
    for src, dst in itertools.permutations(range(nodes), 2):
        usage = fabric.link_usage(column([src]), column([dst]))
        after = dict(ends[link] for link in usage.resource.tolist())
        here = src
        while after:
            here = after.pop(here)
        assert here == dst


@pytest.mark.parametrize("name", ["torus-16", "superpod-16", "sipac-64"])
def test_links_carry_what_pairs_send(name: str) -> None:
    """What leaves the nodes in a step is what they send and what they pass on."""
    schedule = ll.synthesise(f"{name}/all-reduce-1MiB").schedule
    links = data_of(ll.show(schedule).html)["links"]
    nodes = data_of(ll.show(schedule).html)["layout"]["nodes"]
    pairs = ll.replay(schedule).pairs
    assert len(links["of"]) == len(ll.replay(schedule).steps)
    for step, load in enumerate(links["of"]):
        balance = [0] * nodes
        for at, size in zip(*links["loads"][load], strict=True):
            for node, sign in ((links["tail"][at], 1), (links["head"][at], -1)):
                if node < nodes:
                    balance[node] += sign * size
        rows = pairs.step == step
        sent = np.bincount(pairs.src[rows], pairs.bytes[rows], nodes)
        assert (
            balance
            == (sent - np.bincount(pairs.dst[rows], pairs.bytes[rows], nodes)).tolist()
        )


@pytest.mark.parametrize("name", ["torus-16", "superpod-16", "sipac-64"])
def test_pairs_have_the_links_that_they_cross(name: str) -> None:
    """From the source to the destination of each pair that sends, one after another."""
    data = data_of(page_of(f"{name}/all-reduce-1MiB"))
    links, pairs = data["links"], data["pairs"]
    for src, dst in {*zip(pairs["src"], pairs["dst"], strict=True)}:
        ahead = {
            links["tail"][at]: links["head"][at] for at in links["ways"][f"{src}>{dst}"]
        }
        here = src
        while ahead:
            here = ahead.pop(here)
        assert here == dst


def test_what_breaks_a_rule_has_a_colour_of_its_own() -> None:
    """In light and in dark, and nothing else is painted in it."""
    page = page_of("lightpath-4/all-gather-64KiB", "ring")
    for theme in re.findall(r":root[^{]*\{([^}]*)\}", page):
        colours = dict(re.findall(r"--(\w+): (#\w+)", theme))
        assert list(colours.values()).count(colours["fault"]) == 1
    assert ".bad { color: var(--fault)" in page
    assert page.count('css("--fault")') == 1


def test_a_large_schedule_is_sampled_and_says_so() -> None:
    """256 ranks fit; what is left out is named."""
    page = page_of("ideal-switch-256/all-to-all-64MiB", "direct")
    assert len(page) < _FEW
    assert "those of one node in" in " ".join(data_of(page)["notes"])


def test_a_broken_file_is_shown_with_its_faults(tmp_path: Path) -> None:
    """What is wrong is in the page."""
    schedule = ll.synthesise("lightpath-4/all-gather-64KiB", "ring").schedule
    bad = tmp_path / "bad.jsonl"
    ll.write_schedule(replace(schedule, parts=schedule.parts[:-1]), bad)
    result = run("show", str(bad), "-o", str(tmp_path / "bad.html"))
    assert result.exit_code == 0, result.stderr
    data = data_of((tmp_path / "bad.html").read_text(encoding="utf-8"))
    assert data["violations"]
    assert run("show", str(bad), "-o", "-").stdout.startswith("<!DOCTYPE html>")
    assert ["verdict", "breaks rules"] in data["facts"]
    ((objective, told),) = data["certificates"]
    assert objective == "completion-time"
    assert told.startswith("refused: ")
    assert "above it" not in told


@pytest.fixture(scope="module")
def browser() -> Iterator[WebDriver]:
    """Return a headless browser."""
    if not (_BROWSER and _DRIVER):
        pytest.skip("no chromium with chromedriver is installed")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = _BROWSER
    for flag in _FLAGS:
        options.add_argument(flag)
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    driver = webdriver.Chrome(options, webdriver.ChromeService(_DRIVER))
    yield driver
    driver.quit()


_INSTANCES = (
    "lightpath-16/all-reduce-1MiB",
    "ocs-16/all-reduce-1MiB",
    "ring-8/groups-3MB",
    "ramp-16/all-reduce-1MiB",
    "sipac-16/all-to-all-1MiB",
    "ideal-switch-16/broadcast-1MiB",
    "superpod-16/all-reduce-1MiB",
    "topoopt-16/all-gather-1MiB",
    "torus-16/all-reduce-1MiB",
    "ring-2d-16/all-reduce-1MiB",
    "bcube-64/all-reduce-1MiB",
    "fat-tree-64/all-reduce-1MiB",
    "sipac-64/all-gather-1MiB",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", _INSTANCES)
def test_every_control_works(browser: WebDriver, tmp_path: Path, name: str) -> None:
    """Click through a page: no error in the console, no request, the right step."""
    path = tmp_path / "page.html"
    path.write_text(page_of(name), encoding="utf-8")
    data = data_of(path.read_text(encoding="utf-8"))
    last = len(data["moments"]) - 1
    browser.get(f"file://{path}")

    def find(identity: str) -> WebElement:
        return browser.find_element("id", identity)

    def step() -> int:
        return int(find("step").get_attribute("value"))

    assert browser.title == "schedule"
    find("last").click()
    assert step() == last
    find("previous").click()
    assert step() == max(0, last - 1)
    find("next").click()
    find("first").click()
    assert step() == 0
    find("play").click()
    assert find("play").text == "Pause"
    find("play").click()
    find("first").click()
    body = browser.find_element("tag name", "body")
    for keys, expected in (("\ue010", last), ("\ue011", 0), ("\ue014", min(1, last))):
        body.send_keys(keys)  # End, Home, right
        assert step() == expected
    before = find("theme").text
    find("theme").click()
    assert find("theme").text != before
    body.send_keys("d")
    assert find("theme").text == before
    for identity in ("draw", "colour", "rows", "plane", "use"):
        for option in find(identity).find_elements("tag name", "option"):
            if option.is_enabled() and option.is_displayed():
                option.click()
    find("node").send_keys("1")
    assert "drawn" in find("legend").text
    find("node").clear()
    if data["transfers"]:
        find("follow").click()
        assert find("follow").get_attribute("aria-pressed") == "true"
        assert find("way").find_elements("tag name", "li")
        find("way").find_elements("tag name", "li")[-1].click()
        find("chunk").send_keys("\ue009a", "0")  # Control and A, then the first chunk
        find("follow").click()
    browser.find_elements("css selector", "#where tbody tr")[-1].click()
    assert data["moments"][step()][0] == len(data["steps"]) - 1
    assert "No rule is broken" in find("verdict").text
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []
    sent = [
        json.loads(one["message"])["message"] for one in browser.get_log("performance")
    ]
    asked = [
        one["params"]["request"]["url"]
        for one in sent
        if one["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


_SPY = """
window.texts = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const wide = this.measureText(text).width;
  const from = {left: x, right: x - wide, center: x - wide / 2}[this.textAlign];
  window.texts.push([this.canvas.id, text, from, from + wide]);
  write.call(this, text, x, y);
};
"""
"""Keeps what is written into canvases: which one, what, from where to where."""
_SHADES = """
const canvas = document.getElementById(arguments[0]), pen = canvas.getContext("2d");
const all = pen.getImageData(0, 0, canvas.width, canvas.height).data, found = new Set();
for (let i = 0; i < all.length; i += 4) {
  const some = [all[i], all[i + 1], all[i + 2]];
  if (all[i + 3] && Math.max(...some) - Math.min(...some) > 60) found.add(some.join());
}
return [...found];
"""
"""Colours of a canvas that are not grey."""


def opened(browser: WebDriver, page: str, path: Path) -> None:
    """Open a page from a file, in light colours."""
    path.write_text(page, encoding="utf-8")
    browser.get(f"file://{path}")
    if browser.find_element("id", "theme").text == "Light":
        browser.find_element("id", "theme").click()


@pytest.mark.slow
@pytest.mark.parametrize("name", _INSTANCES)
def test_nodes_ways_and_data_are_shown_as_the_page_opens(
    browser: WebDriver, tmp_path: Path, name: str
) -> None:
    """Parts of a node's time in a table; ways and data in colour."""
    page = page_of(name)
    opened(browser, page, tmp_path / "page.html")
    find = functools.partial(browser.find_element, "id")
    colour = find("colour").get_attribute("value")
    find("by").find_elements("tag name", "option")[1].click()
    rows = find("where").find_elements("css selector", "tbody tr")
    assert len(rows) == data_of(page)["layout"]["nodes"]
    percent = find("where").find_elements("css selector", "tfoot tr")[-1].text
    assert sum(map(int, re.findall(r"(\d+) %", percent))) == 100
    find("draw").find_elements("tag name", "option")[1].click()
    assert find("colour").get_attribute("value") == colour
    assert browser.execute_script(_SHADES, "fabric")
    assert "no routes in its file" not in find("legend").text
    assert not re.search("There are no|no circuit", find("legend").text)
    if not data_of(page)["transfers"]:
        return
    find("follow").click()
    find("way").find_elements("tag name", "li")[0].click()
    assert browser.execute_script(_SHADES, "fabric")
    assert re.search("[1-9][0-9]* transfers? of the chunk drawn", find("legend").text)
    routed = "lightpath" in name or "links that the chunk" in find("legend").text
    assert routed == ("lightpath" in name or data_of(page)["links"] is not None)


@pytest.mark.slow
@pytest.mark.parametrize("fabric", ["ring-5", "ramp-8", "lightpath-16"])
def test_every_configuration_of_a_step_is_shown(
    browser: WebDriver, tmp_path: Path, fabric: str
) -> None:
    """One position of the slider for each; the time line shows what planes change."""
    schedule = in_turns(50_000_000 if fabric == "ring-5" else 4_000_000, fabric)
    page = ll.show(schedule).html
    opened(browser, page, tmp_path / "page.html")
    find = functools.partial(browser.find_element, "id")
    count = len(schedule.segments)
    drawn = 0
    for at, segment in enumerate(schedule.segments):
        assert f"configuration {at + 1} of {count}" in find("now").text
        assert f"configuration {at + 1} of {count}" in find("planes-now").text
        pairs = np.unique([segment.circuits.src, segment.circuits.dst], axis=1)
        assert f"{pairs.shape[1]} pairs with circuits drawn" in find("legend").text
        drawn += pairs.shape[1]
        find("next").click()
    assert drawn > max(len(segment.circuits) for segment in schedule.segments)
    find("rows").find_elements("tag name", "option")[0].click()
    data = data_of(page)
    lasts = data["steps"][-1][1]
    for segment in data["segments"]:
        middle = sum(segment["set"]) / 2 / lasts
        if (segment["set"][1] - segment["set"][0]) / lasts > 0.005:
            assert browser.execute_script(_PIXEL, middle) == _ORANGE


_ORANGE = [0xD5, 0x5E, 0x00]
_PIXEL = """
const canvas = document.getElementById("time"), box = canvas.getBoundingClientRect();
const x = (46 + (box.width - 54) * arguments[0]) * canvas.width / box.width;
const pixel = canvas.getContext("2d").getImageData(x, canvas.height * 0.4, 1, 1);
return [...pixel.data].slice(0, 3);
"""
"""The colour in the first row of the time line, at a share of the time."""


@pytest.mark.slow
@pytest.mark.parametrize("wide", [360, 1200])
@pytest.mark.parametrize("name", ["lightpath-16/all-reduce-1MiB", "ocs-8/groups-3MB"])
def test_ticks_are_round_and_apart(
    browser: WebDriver, tmp_path: Path, name: str, wide: int
) -> None:
    """On a phone and on a desk: numbers like 0, 5, 10, none over another."""
    spy = browser.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": _SPY}
    )
    size = {"width": wide, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    opened(browser, page_of(name), tmp_path / "page.html")
    again = "window.texts.length = 0; dispatchEvent(new Event('resize')); return texts"
    texts = browser.execute_script(again)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", spy)
    ticks = [row for row in texts if row[0] == "time" and row[1].endswith("us")]
    assert ticks
    for before, after in itertools.pairwise(ticks):
        assert before[3] + 3 < after[2]
    assert ticks[-1][3] <= wide
    values = [float(text.removesuffix(" us").replace(",", "")) for _, text, *_ in ticks]
    every = f"{values[0]:e}"
    assert every.partition("e")[0].rstrip("0") in ("1.", "2.", "5.")
    assert values == pytest.approx([values[0] * n for n in range(1, len(values) + 1)])


@pytest.mark.slow
def test_every_way_to_choose_a_step(browser: WebDriver, tmp_path: Path) -> None:
    """The slider, Enter in the table, a click into the time line; then a node."""
    path = tmp_path / "page.html"
    path.write_text(page_of("torus-16/all-reduce-1MiB"), encoding="utf-8")
    steps = [row[1:3] for row in data_of(path.read_text(encoding="utf-8"))["moments"]]
    browser.get(f"file://{path}")
    slider = browser.find_element("id", "step")

    def step() -> int:
        return int(slider.get_attribute("value"))

    slider.send_keys("\ue014")  # to the right
    assert step() == 1
    rows = browser.find_elements("css selector", "#where tbody tr")
    rows[0].send_keys("\ue007")  # Enter
    assert step() == 0
    browser.find_element("id", "time").click()
    release_ps, end_ps = steps[step()][:2]
    assert release_ps <= steps[-1][1] * 0.53  # the middle, right of the numbers
    assert end_ps >= steps[-1][1] * 0.43
    fabric = browser.find_element("id", "fabric")
    box, node = fabric.rect, browser.find_element("id", "node")
    size = (box["width"] - 44) / 4, (box["height"] - 44) / 4
    click = "arguments[0].dispatchEvent(new MouseEvent('click', {clientX: arguments[1],"
    click += " clientY: arguments[2]}))"
    place = "return arguments[0].getBoundingClientRect().toJSON()"
    left = browser.execute_script(place, fabric)
    browser.execute_script(
        click,
        fabric,
        left["left"] + 22 + 1.5 * size[0],
        left["top"] + 22 + 2.5 * size[1],
    )
    assert node.get_attribute("value") == "9"
    assert "drawn" in browser.find_element("id", "legend").text
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []
