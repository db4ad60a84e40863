"""MSCCL XML: read strictly and safely, written as all loaders read it."""

from __future__ import annotations

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
        ('chan="0"', 'chan="32"', "program-limit"),
        ('i_chunks="1"', 'i_chunks="3"', "program-chunks"),
        ('type="re"', 'type="cpy"', "program-result"),
        ('nchunksperloop="1"', 'nchunksperloop="2"', "program-chunks"),
        ('id="1" send="-1" recv="0"', 'id="1" send="-1" recv="-1"', "program-peer"),
    ],
)
def test_each_fault_has_its_rule(before: str, after: str, rule: str) -> None:
    """One change, and its rule is among what is reported."""
    assert before in EXCHANGE
    verdict = verify_program(parse_msccl(EXCHANGE.replace(before, after), "x.xml"))
    assert rule in {violation.rule for violation in verdict.violations}


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
