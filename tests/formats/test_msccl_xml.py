"""MSCCL XML: read strictly and safely, written as all loaders read it."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from lightloom.core.errors import FormatError
from lightloom.formats.msccl_runtimes import RUNTIMES
from lightloom.formats.msccl_xml import msccl_xml, parse_msccl, read_msccl
from lightloom.validate.programs import verify_program

if TYPE_CHECKING:
    from pathlib import Path

ALGO = (
    '<algo name="x" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2"'
    ' coll="allreduce" inplace="1" outofplace="0" minBytes="0" maxBytes="0">'
)
GPU = '<gpu id="{0}" i_chunks="1" o_chunks="1" s_chunks="1">'
EXCHANGE = ALGO + "".join(
    GPU.format(rank) + f'<tb id="0" send="{1 - rank}" recv="-1" chan="0">'
    '<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1"'
    ' depid="-1" deps="-1" hasdep="1"/></tb>'
    f'<tb id="1" send="-1" recv="{1 - rank}" chan="0">'
    '<step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1"'
    ' depid="-1" deps="-1" hasdep="1"/></tb>'
    '<tb id="2" send="-1" recv="-1" chan="0">'
    '<step s="0" type="nop" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="0"'
    ' depid="0" deps="0" hasdep="0"/>'
    '<step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="1"'
    ' depid="1" deps="0" hasdep="0"/></tb></gpu>'
    for rank in range(2)
)
EXCHANGE += "</algo>"


def test_a_hand_made_exchange_is_valid() -> None:
    """Two GPUs, scratch, and a sum that waits for both the send and the receive."""
    program = parse_msccl(EXCHANGE, "x.xml")
    for runtime in RUNTIMES.values():
        assert verify_program(program, runtime).valid
    assert parse_msccl(msccl_xml(program), "y.xml") == program


def test_without_the_wait_for_the_send_it_races() -> None:
    """Without the dependency the sum could be sent in place of the input."""
    text = EXCHANGE.replace(
        'depid="0" deps="0" hasdep="0"', 'depid="-1" deps="-1" hasdep="0"'
    )
    text = text.replace('type="s" ', 'type="s"  ').replace(
        'cnt="1" depid="-1" deps="-1" hasdep="1"/></tb><tb id="1"',
        'cnt="1" depid="-1" deps="-1" hasdep="0"/></tb><tb id="1"',
    )
    verdict = verify_program(parse_msccl(text, "x.xml"))
    assert {each.rule for each in verdict.violations} == {"program-race"}
    assert [each.resource for each in verdict.violations] == [
        "gpu 0 tb 2 step 1",
        "gpu 1 tb 2 step 1",
    ]


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        (
            'dstbuf="s" dstoff="0" cnt="1"',
            'dstbuf="s" dstoff="1" cnt="1"',
            "program-offset",
        ),
        ('send="1" recv="-1"', 'send="7" recv="-1"', "program-peer"),
        ('send="1" recv="-1"', 'send="-1" recv="-1"', "program-peer"),
        ('coll="allreduce"', 'coll="allgatherv"', "program-operation"),
        ('depid="1" deps="0"', 'depid="9" deps="0"', "program-reference"),
        ('depid="1" deps="0"', 'depid="2" deps="1"', "program-reference"),
        ('ngpus="2"', 'ngpus="3"', "program-ranks"),
        ('<tb id="1"', '<tb id="5"', "program-ranks"),
        ('hasdep="1"', 'hasdep="0"', "program-awaited"),
        ('chan="0"', 'chan="128"', "program-limit"),
        ('i_chunks="1"', 'i_chunks="3"', "program-chunks"),
        ('type="re"', 'type="cpy"', "program-result"),
        ('proto="Simple"', 'proto="simple"', "program-attributes"),
        ('name="x"', f'name="{"x" * 256}"', "program-text"),
        (' chan="0"', "", "program-text"),
        (' dstoff="0"', "", "program-text"),
        (' s_chunks="1"', "", "program-text"),
        ('hasdep="1"', 'hasdep="2"', "program-text"),
        ('depid="1" deps="0"', 'depid="-1" deps="-1"', "program-chain"),
        ('nchunksperloop="1"', 'nchunksperloop="2"', "program-chunks"),
        ('id="1" send="-1" recv="0"', 'id="1" send="-1" recv="-1"', "program-peer"),
    ],
)
def test_each_fault_has_its_rule(before: str, after: str, rule: str) -> None:
    """One change, and its rule is among what is reported."""
    assert before in EXCHANGE
    verdict = verify_program(parse_msccl(EXCHANGE.replace(before, after), "x.xml"))
    assert rule in {violation.rule for violation in verdict.violations}


LINE = '<tb id="2" send="-1" recv="-1" chan="0">'


@pytest.mark.parametrize(
    ("text", "stops_at"),
    [
        ('<?xml version="1.0"?>\n' + EXCHANGE, "line 1: .*an XML declaration"),
        (EXCHANGE.replace("<gpu", "\n\t<gpu"), "line 2: .*a tab"),
        (EXCHANGE.replace("<gpu ", "\n<gpu\t"), "line 2: .*a tab"),
        (EXCHANGE.replace('name="x"', "name='x'"), "single quotes"),
        (EXCHANGE.replace('"Simple"', '"Simple" a=\'"\''), "single quotes"),
        (EXCHANGE.replace('id="2"', 'id = "2"'), "a blank before an equals sign"),
        (EXCHANGE.replace('id="2"', 'id= "2"'), "a blank behind an equals sign"),
        (EXCHANGE.replace(LINE, "\n" + LINE.replace(" ", "\n")), "2: .*a line end"),
        (EXCHANGE.replace(LINE, LINE + "and"), "text between elements"),
        (EXCHANGE.replace(LINE, "<?a b?>" + LINE), "a processing instruction"),
        (EXCHANGE.replace(LINE, "<![CDATA[ ]]>" + LINE), "a CDATA section"),
        (EXCHANGE.replace(LINE, '<!--a="b"-->' + LINE), "begins with name=value"),
        (EXCHANGE.replace("</algo>", "</algo >"), "the tag </algo >"),
        (EXCHANGE.replace(LINE, LINE.replace(" ", " " * 5)), "20 attributes"),
    ],
)
def test_what_loaders_do_not_scan_is_named(text: str, stops_at: str) -> None:
    """All this is XML, and no loader reads it; nothing else is wrong with it."""
    assert text != EXCHANGE
    for runtime in RUNTIMES.values():
        faults = verify_program(parse_msccl(text, "x.xml"), runtime).violations
        assert [fault.rule for fault in faults] == ["program-text"]
        assert re.search(stops_at, f"{faults[0].resource}: {faults[0].message}")


@pytest.mark.parametrize(
    "text",
    [
        "<!-- a='b'\t--><!--c-->\r\n " + EXCHANGE + "\n<!-- <d> -->\n",
        EXCHANGE.replace('"><', '"  >\n  <').replace('"/><', '" />\r\n<'),
        EXCHANGE.replace('chan="0"', 'chan="0" more="a > b"'),
        EXCHANGE.replace('hasdep="0"', 'hasdep="1"'),
        EXCHANGE.replace('name="x"', f'name="{"x" * 255}"'),
    ],
    ids=["comments", "blanks", "angle", "flags that nobody awaits", "long name"],
)
def test_what_loaders_take_is_valid(text: str) -> None:
    """Comments, blanks, flags and long names are no faults of a program."""
    assert text != EXCHANGE
    for runtime in RUNTIMES.values():
        assert verify_program(parse_msccl(text, "x.xml"), runtime).valid


@pytest.mark.parametrize("encoding", ["x", "utf-7", "utf-16", "latin-1"])
def test_a_declared_encoding_is_not_followed(encoding: str) -> None:
    """The text was read as UTF-8 already; the declaration itself is a fault."""
    text = f'<?xml version="1.0" encoding="{encoding}"?>{EXCHANGE}'
    faults = verify_program(parse_msccl(text, "x.xml")).violations
    assert [fault.rule for fault in faults] == ["program-text"]


def test_loaders_differ_in_channels_threads_and_chunks() -> None:
    """Each has limits of its own, as its source has them."""

    def rules(text: str, name: str) -> set[str]:
        verdict = verify_program(parse_msccl(text, "x.xml"), RUNTIMES[name])
        return {violation.rule for violation in verdict.violations}

    high = EXCHANGE.replace('chan="0"', 'chan="127"')
    assert [rules(high, name) for name in RUNTIMES] == [
        {"program-limit"},
        {"program-limit"},
        set(),
    ]
    threads = EXCHANGE.replace('proto="Simple"', 'proto="Simple" nthreads="100"')
    assert [rules(threads, name) for name in RUNTIMES] == [
        {"program-attributes"},
        set(),
        set(),
    ]
    assert not rules(threads.replace('"100"', '"96"'), "msccl")
    unequal = EXCHANGE.replace("allreduce", "custom").replace(
        'o_chunks="1"', 'o_chunks="2"'
    )
    assert rules(unequal, "msccl") == {"program-chunks"}
    assert not rules(unequal.replace('o_chunks="2"', 'o_chunks="0"'), "msccl")
    late = EXCHANGE.replace('minBytes="0" maxBytes="0"', f'minBytes="{2**27 + 1}"')
    assert rules(late, "msccl") == {"program-limit"}


def star(leaves: int) -> str:
    """Return a program in which GPU 0 sends its chunk to and hears from many."""

    def step(kind: str, src: int, dst: int) -> str:
        return (
            f'<step s="0" type="{kind}" srcbuf="i" srcoff="{src}" dstbuf="o"'
            f' dstoff="{dst}" cnt="1" depid="-1" deps="-1" hasdep="0"/>'
        )

    def block(number: int, send: int, receive: int, what: str) -> str:
        return f'<tb id="{number}" send="{send}" recv="{receive}" chan="0">{what}</tb>'

    n = leaves + 1
    gpu = f'<gpu id="{{}}" i_chunks="1" o_chunks="{n}" s_chunks="0">'
    text = ALGO.replace('loop="1" ngpus="2"', f'loop="{n}" ngpus="{n}"')
    text = text.replace("allreduce", "allgather") + gpu.format(0)
    for leaf in range(1, n):
        text += block(2 * leaf - 2, leaf, -1, step("s", 0, 0))
        text += block(2 * leaf - 1, -1, leaf, step("r", 0, leaf))
    text += "</gpu>"
    for leaf in range(1, n):
        text += gpu.format(leaf) + block(0, 0, -1, step("s", 0, leaf))
        text += block(1, -1, 0, step("r", 0, 0)) + "</gpu>"
    return text + "</algo>"


def test_a_channel_takes_32_senders_and_32_receivers() -> None:
    """Loaders count them apart: 64 thread blocks share a channel, 66 do not."""
    for leaves, over in ((32, 0), (33, 2)):
        program = parse_msccl(star(leaves), "x.xml")
        faults = verify_program(program, RUNTIMES["msccl"]).violations
        assert [f.rule for f in faults].count("program-limit") == over


def test_steps_of_very_many_chunks_are_judged_at_once() -> None:
    """Loaders refuse the count, and nothing is done that is linear in it."""
    many = str(10**18)
    text = re.sub('(chunks|loop|cnt)="1"', f'\\1="{many}"', EXCHANGE)
    verdict = verify_program(parse_msccl(text, "x.xml"))
    assert {fault.rule for fault in verdict.violations} == {"program-limit"}


def test_two_messages_a_connection_are_a_warning() -> None:
    """With the eight slots of LL three sends end before anyone receives."""
    sends = "".join(
        f'<step s="{turn}" type="s" srcbuf="i" srcoff="{turn}" dstbuf="s"'
        f' dstoff="{turn}" cnt="1" depid="-1" deps="-1" hasdep="0"/>'
        for turn in range(3)
    )
    waits = ['depid="0" deps="2"', *['depid="-1" deps="-1"'] * 2]
    receives = "".join(
        f'<step s="{turn}" type="rrc" srcbuf="i" srcoff="{turn}" dstbuf="i"'
        f' dstoff="{turn}" cnt="1" {wait} hasdep="0"/>'
        for turn, wait in enumerate(waits)
    )
    gpu = '<gpu id="{0}" i_chunks="3" o_chunks="3" s_chunks="3">'
    text = ALGO.replace('loop="1"', 'loop="3"') + "".join(
        gpu.format(rank) + f'<tb id="0" send="{1 - rank}" recv="-1" chan="0">'
        f'{sends[:-13]} hasdep="1"/></tb><tb id="1" send="-1" recv="{1 - rank}"'
        f' chan="0">{receives}</tb></gpu>'
        for rank in range(2)
    )
    text = text.replace("Simple", "LL").replace('maxBytes="0"', 'maxBytes="4096"')
    verdict = verify_program(parse_msccl(text + "</algo>", "x.xml"))
    assert verdict.valid
    assert verdict.warnings == ("hangs where a connection holds two messages",)


def test_a_missing_step_is_a_deadlock_and_an_extra_one_unread() -> None:
    """A receive without a send waits; a send without a receive is never read."""
    send = EXCHANGE.index("<step"), EXCHANGE.index("/></tb>") + 2
    missing = EXCHANGE[: send[0]] + EXCHANGE[send[1] :]
    missing = missing.replace('depid="0" deps="0"', 'depid="-1" deps="-1"', 1)
    verdict = verify_program(parse_msccl(missing, "x.xml"))
    assert "program-deadlock" in {each.rule for each in verdict.violations}
    step = EXCHANGE[send[0] : send[1]]
    extra = step.replace('s="0"', 's="1"').replace('hasdep="1"', 'hasdep="0"')
    unread = EXCHANGE[: send[1]] + extra + EXCHANGE[send[1] :]
    verdict = verify_program(parse_msccl(unread, "x.xml"))
    assert "program-unread" in {each.rule for each in verdict.violations}


def test_a_program_without_steps_is_vacuous() -> None:
    """A program may have all ranks and no step."""
    text = ALGO + "".join(GPU.format(rank) + "</gpu>" for rank in range(2)) + "</algo>"
    verdict = verify_program(parse_msccl(text, "x.xml"))
    assert "program-vacuous" in {each.rule for each in verdict.violations}


def test_a_program_that_is_never_chosen_is_vacuous() -> None:
    """Neither in place nor out of place, its values would not be looked at."""
    text = EXCHANGE.replace(' inplace="1"', "")
    assert text != EXCHANGE
    for wrong in (text, text.replace('cnt="1"', 'cnt="0"')):
        verdict = verify_program(parse_msccl(wrong, "x.xml"))
        assert "program-vacuous" in {each.rule for each in verdict.violations}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "invalid XML"),
        ("<algo", "invalid XML"),
        (EXCHANGE[:-30], "invalid XML"),
        ("<xml/>", "not an MSCCL program"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><algo/>', "document types and entities"),
        ("<algo/>", "nchunksperloop"),
        ("<algo nchunksperloop='-1' coll='x'/>", "an integer from 1"),
        ("<algo nchunksperloop='0x1' coll='x'/>", "invalid value"),
        ("<algo nchunksperloop='010' coll='x'/>", "octal"),
        ("<algo nchunksperloop='99999999999999999999' coll='x'/>", "invalid value"),
        ("<algo nchunksperloop='1'/>", "coll: missing attribute"),
        (EXCHANGE.replace('type="re"', 'type="add"'), "type: invalid value"),
        (EXCHANGE.replace('srcbuf="s"', 'srcbuf="x"'), "srcbuf: invalid value"),
        (EXCHANGE.replace('cnt="1"', 'cnt="-1"'), "cnt: invalid value"),
        (EXCHANGE.replace('s="1"', 's="2"'), "numbered in order"),
        (
            "<algo " + " ".join(f'a{n}="1"' for n in range(100)) + "/>",
            "too many attrib",
        ),
        ("<algo>" + "<a>" * 40 + "</a>" * 40 + "</algo>", "nested too deeply"),
    ],
)
def test_what_is_no_program_is_refused(text: str, says: str) -> None:
    """One error that names file, line and attribute."""
    with pytest.raises(FormatError, match=says) as caught:
        parse_msccl(text, "x.xml")
    assert str(caught.value).startswith("x.xml")


def test_entity_bombs_do_nothing(tmp_path: Path) -> None:
    """The declaration is refused before anything grows."""
    names = [f"e{n}" for n in range(30)]
    rows = [f'<!ENTITY {names[0]} "ha">'] + [
        f'<!ENTITY {name} "&{before};&{before};">' for before, name in pairwise(names)
    ]
    path = tmp_path / "bomb.xml"
    path.write_text(f"<!DOCTYPE algo [{''.join(rows)}]><algo>&{names[-1]};</algo>")
    with pytest.raises(FormatError, match="refused"):
        read_msccl(path)


def test_unknown_elements_and_attributes_are_skipped() -> None:
    """Unknown elements and attributes are ignored, as the runtimes' loaders do."""
    text = EXCHANGE.replace("<gpu ", '<note a="b"><gpu/></note><gpu more="1" ', 1)
    assert parse_msccl(text, "x.xml").ranks == parse_msccl(EXCHANGE, "x.xml").ranks
