"""MSCCL XML: programs of GPUs as microsoft/msccl, Azure's executor and RCCL load them.

``<algo>`` has a ``<gpu>`` for each rank, a GPU a ``<tb>`` for each thread block, a
thread block a ``<step>`` for each instruction. Elements and attributes that are not of
the format are skipped, as the loaders do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.parsers import expat

from lightloom.core.chunk_program import (
    BUFFERS,
    NOP,
    ChunkProgram,
    Instruction,
    RankProgram,
    ThreadBlock,
)
from lightloom.core.errors import FormatError
from lightloom.core.units import MIB
from lightloom.formats.text_file import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lightloom.core.chunk_program import Place

MOST_XML_BYTES = 64 * MIB
_MOST_DEPTH = 16
"""Levels of elements; the format has four."""
_MOST_ELEMENTS = 2**21
"""Elements of a file, which are all held in memory."""
_MOST_ATTRIBUTES = 64
"""Attributes of an element; the format knows a dozen."""
_LARGEST = 2**62
"""Largest number; sums of two still fit 63 bits."""
_CHILD = {"": "algo", "algo": "gpu", "gpu": "tb", "tb": "step"}
_KINDS = {"s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "ra", "nop"}
_WANTED = {
    "gpu": ("id", "i_chunks", "o_chunks", "s_chunks"),
    "tb": ("id", "send", "recv", "chan"),
    "step": (
        *("s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff"),
        *("cnt", "depid", "deps", "hasdep"),
    ),
}
"""Attributes without which every loader refuses an element."""
_LOADER_ATTRIBUTES, _LOADER_CHARACTERS = 16, 255
"""How many attributes of an element the loaders keep, and how long a value may be."""
_GAP = re.compile(r"[ \n\r]*")
_TAG = re.compile(r"</[^\s>]+>|<[^\s=/>!?]+( +[^\s=/>]+=\"[^\"]*\"(?=[ />]))* */?>")
_COMMENT = re.compile(r"<!--[^ />\n\r=]*[ />\n\r]")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


@dataclass
class _Element:
    """An element that is being read, with the children that the format knows."""

    name: str
    line: int
    attributes: dict[str, str]
    children: list[_Element] = field(default_factory=list)


def read_msccl(path: str | Path) -> ChunkProgram:
    """Return the program in an MSCCL XML file.

    `path`: of the file, decompressed by its suffix; ``-`` for standard input.

    Raises `InputError`: the file cannot be read; `FormatError`: it is no well-formed
    XML, declares entities or a document type, is nested too deeply or too long, or an
    attribute is missing or has an invalid value. What the program itself does wrong is
    for `lightloom.validate.programs` to say.
    """
    return parse_msccl(read_text(path, most_bytes=MOST_XML_BYTES), str(path))


def parse_msccl(text: str, where: str) -> ChunkProgram:
    """Return the program in a text of MSCCL XML.

    Raises `FormatError`: as `read_msccl`.
    """
    algo = _parse(text, where)
    refused = [*_refused_text(text), *_refused_elements(algo)]
    read = _Attributes(where, algo)
    chunks = read.number("nchunksperloop", least=1)
    in_place = read.number("inplace", 0)
    return ChunkProgram(
        name=read.text("name", ""),
        collective=read.text("coll"),
        protocol=read.text("proto", "Simple"),
        channels=read.number("nchannels", 1, least=0),
        chunks_per_loop=chunks,
        in_place=bool(in_place),
        out_of_place=bool(read.number("outofplace", int(not in_place))),
        min_bytes=read.optional("minBytes"),
        max_bytes=read.optional("maxBytes"),
        ranks=tuple(_rank(where, gpu) for gpu in algo.children),
        declared_ranks=read.optional("ngpus"),
        attributes=frozenset(algo.attributes),
        threads=read.number("nthreads", 0, least=0),
        refused=tuple(refused),
    )


def _refused_text(text: str) -> Iterator[tuple[str, str]]:
    """Yield the first place that XML allows and the loaders' own scanner does not.

    The scanner is the same in all three: it skips blanks and line ends, then wants a
    comment or a tag whose attributes follow one blank each, in double quotes and
    without blanks around the equals sign.
    """
    at = 0
    while (at := _GAP.match(text, at).end()) < len(text):  # type: ignore[union-attr]
        tag = _TAG.match(text, at)
        if tag is not None:
            if problem := _refused_tag(tag[0]):
                yield f"line {text.count(chr(10), 0, at) + 1}", problem
                return
            at = tag.end()
        elif _COMMENT.match(text, at):
            at = text.index("-->", at) + 3
        else:
            what = _not_scanned(text, at)
            message = f"the loaders read no general XML, and stop at {what}"
            yield f"line {text.count(chr(10), 0, at) + 1}", message
            return


def _refused_tag(tag: str) -> str:
    """Return what the loaders have no room for in a tag; empty if they have."""
    longest = max((len(value) - 2 for value in _QUOTED.findall(tag)), default=0)
    if longest > _LOADER_CHARACTERS:
        room = f"the loaders have room for {_LOADER_CHARACTERS}"
        return f"a value of {longest} characters, {room}"
    count = _QUOTED.sub("", tag).count(" ")  # each blank begins an attribute
    if count > _LOADER_ATTRIBUTES:
        return f"{count} attributes, the loaders keep {_LOADER_ATTRIBUTES}"
    return ""


def _not_scanned(text: str, at: int) -> str:
    """Return in words what the loaders' scanner stops at."""
    for start, name in (
        ("\t", "a tab"),
        ("<?xml", "an XML declaration"),
        ("<?", "a processing instruction"),
        ("<!--", "a comment that begins with name=value"),
        ("<![", "a CDATA section"),
    ):
        if text.startswith(start, at):
            return name
    if text[at] != "<":
        return "text between elements"
    tag = re.compile(r"<(?:[^>\"']|\"[^\"]*\"|'[^']*')*>").match(text, at)
    bare = _QUOTED.sub(lambda value: value[0][0] * 2, tag[0] if tag else text[at:])
    for found, name in (
        ("\t", "a tab"),
        ("'", "single quotes, they want double ones"),
        (" =", "a blank before an equals sign"),
        ("= ", "a blank behind an equals sign"),
        ("\n", "a line end within a tag"),
        ("\r", "a line end within a tag"),
    ):
        if found in bare:
            return name
    return f"the tag {tag[0] if tag else text[at : at + 20]}"


def _refused_elements(algo: _Element) -> Iterator[tuple[str, str]]:
    """Yield what all loaders miss in an element, or find in it and refuse."""
    todo = list(reversed(algo.children))
    while todo:
        element = todo.pop()
        todo += reversed(element.children)
        wanted = _WANTED[element.name]
        missing = [name for name in wanted if name not in element.attributes]
        if missing:
            message = f"<{element.name}> without {', '.join(missing)}"
            yield f"line {element.line}", f"the loaders refuse {message}"
        value = element.attributes.get("hasdep", "0")
        if element.name == "step" and value not in ("0", "1"):
            message = f"the loaders refuse hasdep {value}, they take 0 and 1"
            yield f"line {element.line}", message


def _rank(where: str, gpu: _Element) -> RankProgram:
    read = _Attributes(where, gpu)
    return RankProgram(
        read.number("id"),
        read.number("i_chunks", 0, least=0),
        read.number("o_chunks", 0, least=0),
        read.number("s_chunks", 0, least=0),
        tuple(_thread_block(where, block) for block in gpu.children),
    )


def _thread_block(where: str, block: _Element) -> ThreadBlock:
    read = _Attributes(where, block)
    return ThreadBlock(
        read.number("id"),
        read.number("send", -1),
        read.number("recv", -1),
        read.number("chan", 0, least=0),
        tuple(_instructions(where, block)),
    )


def _instructions(where: str, block: _Element) -> Iterator[Instruction]:
    """Yield the steps of a thread block, which must be numbered from 0 in order."""
    for place, step in enumerate(block.children):
        read = _Attributes(where, step)
        number = read.number("s", place)
        if number != place:
            raise read.error("s", number, f"{place}, steps are numbered in order")
        kind = read.text("type")
        if kind not in _KINDS:
            raise read.error("type", kind, ", ".join(sorted(_KINDS)))
        count = read.number("cnt", 0 if kind == NOP else 1, least=0)
        block_id, awaited_step = read.number("depid", -1), read.number("deps", -1)
        yield Instruction(
            kind,
            read.place("src"),
            read.place("dst"),
            0 if kind == NOP else count,  # of what only waits it means nothing
            None if block_id < 0 else (block_id, awaited_step),
            bool(read.number("hasdep", 0)),
        )


@dataclass(frozen=True)
class _Attributes:
    """The attributes of an element, read strictly."""

    where: str
    element: _Element

    def error(self, name: str, found: object, allowed: str) -> FormatError:
        """Return the error about the value of an attribute."""
        place = f"{self.where}:{self.element.line}: <{self.element.name}> {name}"
        what = "missing attribute" if found is None else "invalid value"
        return FormatError(what, where=place, found=found, allowed=allowed)

    def text(self, name: str, default: str | None = None) -> str:
        """Return an attribute as it is."""
        value = self.element.attributes.get(name, default)
        if value is None:
            raise self.error(name, None, "a word")
        return value

    def optional(self, name: str) -> int | None:
        """Return a number from 0, ``None`` where it is not given."""
        return self.number(name, least=0) if name in self.element.attributes else None

    def number(self, name: str, default: int | None = None, *, least: int = -1) -> int:
        """Return an integer attribute."""
        allowed = f"an integer from {least}"
        given = self.element.attributes.get(name)
        if given is None:
            if default is None:
                raise self.error(name, None, allowed)
            return default
        digits = given.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            raise self.error(name, given, allowed)
        if digits[0] == "0" and len(digits) > 1:
            octal = f"{allowed} without leading zeros, which loaders read as octal"
            raise self.error(name, given, octal)
        value = int(given)
        if not least <= value <= _LARGEST:
            raise self.error(name, given, allowed)
        return value

    def place(self, end: str) -> Place:
        """Return the buffer and offset of an end of a step."""
        buffer = self.text(f"{end}buf", "i")
        if buffer not in BUFFERS:
            raise self.error(f"{end}buf", buffer, ", ".join(BUFFERS))
        return buffer, self.number(f"{end}off", -1)


class _Reader:
    """Builds elements as the parser meets them, within limits."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.root: _Element | None = None
        self._open: list[_Element | None] = []
        self._count = 0
        self._parser = expat.ParserCreate("utf-8")  # whatever the file says it is in
        self._parser.ordered_attributes = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse_declaration
        self._parser.EntityDeclHandler = self._refuse_declaration

    def read(self, text: str) -> None:
        """Read a whole text."""
        try:
            self._parser.Parse(text.encode(), True)  # noqa: FBT003  (positional only)
        except expat.ExpatError as problem:
            what = f"invalid XML: {expat.ErrorString(problem.code)}"
            place = f"{self.where}:{problem.lineno}:{problem.offset + 1}"
            raise FormatError(what, where=place) from None

    def _error(self, what: str, found: object, allowed: str) -> FormatError:
        place = f"{self.where}:{self._parser.CurrentLineNumber}"
        return FormatError(what, where=place, found=found, allowed=allowed)

    def _refuse_declaration(self, name: str, *_: object) -> None:
        what = "document types and entities are refused"
        raise self._error(what, name, "elements and attributes alone")

    def _start(self, name: str, given: list[str]) -> None:
        self._count += 1
        if self._count > _MOST_ELEMENTS:
            raise self._error("too many elements", None, f"{_MOST_ELEMENTS}")
        if len(self._open) >= _MOST_DEPTH:
            raise self._error("nested too deeply", None, f"{_MOST_DEPTH} levels")
        if len(given) > 2 * _MOST_ATTRIBUTES:
            found = len(given) // 2
            raise self._error("too many attributes", found, f"{_MOST_ATTRIBUTES}")
        parent = self._open[-1] if self._open else None
        known = parent.name if parent is not None else "" if not self._open else None
        if known is None or _CHILD.get(known) != name:
            if not self._open:
                raise self._error("not an MSCCL program", name, "the element algo")
            self._open.append(None)  # of no meaning, and so is what it holds
            return
        line = self._parser.CurrentLineNumber
        values = dict(zip(given[::2], given[1::2], strict=True))
        element = _Element(name, line, values)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()


def _parse(text: str, where: str) -> _Element:
    """Return the root element of a text."""
    reader = _Reader(where)
    reader.read(text)
    assert reader.root is not None
    return reader.root


def msccl_xml(program: ChunkProgram) -> str:
    """Return a program as MSCCL XML.

    No XML declaration, no tabs, double quotes: what all three loaders read.

    Deterministic: the same program gives the same text.
    """
    return "\n".join(_lines(program)) + "\n"


def _lines(program: ChunkProgram) -> Iterator[str]:
    yield (
        f'<algo name="{program.name}" proto="{program.protocol}"'
        f' nchannels="{program.channels}" nchunksperloop="{program.chunks_per_loop}"'
        f' ngpus="{len(program.ranks)}" coll="{program.collective}"'
        f' inplace="{program.in_place:d}" outofplace="{program.out_of_place:d}"'
        f' minBytes="{program.min_bytes or 0}" maxBytes="{program.max_bytes or 0}">'
    )
    for rank in program.ranks:
        yield (
            f'  <gpu id="{rank.id}" i_chunks="{rank.input_chunks}"'
            f' o_chunks="{rank.output_chunks}" s_chunks="{rank.scratch_chunks}">'
        )
        for block in rank.thread_blocks:
            yield (
                f'    <tb id="{block.id}" send="{block.send_peer}"'
                f' recv="{block.receive_peer}" chan="{block.channel}">'
            )
            for number, step in enumerate(block.steps):
                depid, deps = step.waits_for or (-1, -1)
                yield (
                    f'      <step s="{number}" type="{step.kind}"'
                    f' srcbuf="{step.src[0]}" srcoff="{step.src[1]}"'
                    f' dstbuf="{step.dst[0]}" dstoff="{step.dst[1]}"'
                    f' cnt="{step.count}" depid="{depid}" deps="{deps}"'
                    f' hasdep="{step.awaited:d}"/>'
                )
            yield "    </tb>"
        yield "  </gpu>"
    yield "</algo>"
