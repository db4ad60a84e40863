"""Compressed files by suffix: ``.gz`` and ``.zst``; ``-`` is stdin or stdout."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from lightloom.core.errors import FormatError, InputError
from lightloom.core.units import GIB, MIB
from lightloom.formats.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import WriteableBuffer
    from zstandard import ZstdDecompressor

STANDARD_STREAM = "-"
MOST_RATIO = {".gz": 1000, ".zst": 10_000}
"""A file that grows by more when it is decompressed is refused as a bomb: just below
what the formats can reach, and well above what regular schedules do (100, 800)."""
FREE_BYTES = 64 * MIB
"""Files that decompress to no more than this are never refused for it."""
MOST_FILE_BYTES = 8 * GIB
"""No file is longer than this, uncompressed: an endless stream is noticed at last."""

_OTHER_COMPRESSIONS = frozenset(
    {".7z", ".br", ".bz2", ".lz", ".lz4", ".lzma", ".rar", ".xz", ".z", ".zip"}
)
_GZIP_LEVEL = 6
"""gzip's own default: higher levels take several times as long for a few percent."""
_ZSTD_LEVEL = 9
"""Between the default, 3, and the slow levels from 16 on."""
_BUFFER_BYTES = MIB


@contextlib.contextmanager
def open_reading(
    path: str | Path, *, most_bytes: int = MOST_FILE_BYTES
) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressed by its suffix.

    `path`: the file; ``.gz`` and ``.zst`` are decompressed, ``-`` is standard input.
    `most_bytes`: largest number of bytes that may come out of it.

    Raises `InputError`: the file cannot be opened or read, or `check_compression`
    refuses its name; `FormatError`: while reading: the compressed data are damaged, cut
    off, or decompress to more than `FREE_BYTES` and `MOST_RATIO` times their size;
    there are more than `most_bytes`.
    """
    if str(path) == STANDARD_STREAM:
        if sys.stdin is None:
            raise InputError("cannot read: it is closed", where="standard input")
        yield _guarded(sys.stdin.buffer, "standard input", most_bytes)
        return
    check_compression(path)
    if not str(path):
        raise InputError("the name of the file is empty", allowed="a file")
    try:
        raw = Path(path).open("rb")  # noqa: SIM115  (closed below)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(f"cannot read: {reason}", where=str(path)) from None
    with raw:
        yield _decompressed(raw, path, most_bytes)


@contextlib.contextmanager
def open_writing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing bytes atomically, compressed by its suffix.

    The same bytes written give the same file: no time and no name go into it.
    Standard output is written as it is.

    Raises `InputError`: the file cannot be written, or `check_compression` refuses its
    name.
    """
    if str(path) == STANDARD_STREAM:
        if sys.stdout is None:
            raise InputError("cannot write: it is closed", where="standard output")
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as problem:
            if problem.filename is not None:
                raise
            what = f"cannot write: {problem.strerror or problem}"
            raise InputError(what, where="standard output") from None
        return
    check_compression(path)
    suffix = Path(path).suffix.lower()
    with atomic_write(path) as raw:
        if suffix == ".gz":
            with gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as packed:
                yield cast("BinaryIO", packed)
        elif suffix == ".zst":
            import zstandard

            packer = zstandard.ZstdCompressor(_ZSTD_LEVEL, write_checksum=True)
            with packer.stream_writer(raw, closefd=False) as stream:
                yield cast("BinaryIO", stream)
        else:
            yield raw


def check_compression(path: str | Path) -> None:
    """Refuse a file whose suffix is that of a compression that is not read or written.

    Raises `InputError`: its suffix is ``.xz``, ``.bz2`` or the like.
    """
    suffix = Path(path).suffix.lower()
    if suffix in _OTHER_COMPRESSIONS:
        raise InputError(
            "unknown compression",
            where=str(path),
            found=suffix,
            allowed=f"{', '.join(MOST_RATIO)}, or no compression",
        )


def _decompressed(raw: BinaryIO, path: str | Path, most_bytes: int) -> BinaryIO:
    """Return a stream of what a file holds, up to `most_bytes`."""
    stream: _Readable
    damages: tuple[type[Exception], ...]
    suffix = Path(path).suffix.lower()
    if suffix == ".gz":
        stream = gzip.GzipFile(fileobj=raw)
        damages = (EOFError, zlib.error, gzip.BadGzipFile)
    elif suffix == ".zst":
        import zstandard

        stream = _ZstdStream(raw, zstandard.ZstdDecompressor())
        damages = (EOFError, zstandard.ZstdError)
    else:
        return _guarded(raw, str(path), most_bytes)
    packed_bytes = os.fstat(raw.fileno()).st_size
    believed_bytes = max(FREE_BYTES, MOST_RATIO[suffix] * packed_bytes)
    return _guarded(stream, str(path), most_bytes, believed_bytes, damages)


def _guarded(
    stream: _Readable,
    name: str,
    most_bytes: int,
    believed_bytes: int | None = None,
    damages: tuple[type[Exception], ...] = (),
) -> BinaryIO:
    """Return a stream that ends in an error where `stream` is damaged or too long."""
    guard = _GuardedStream(stream, name, most_bytes, believed_bytes, damages)
    return cast("BinaryIO", io.BufferedReader(guard, _BUFFER_BYTES))


class _Readable(Protocol):
    """Anything that hands out bytes, none at its end."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes."""


class _ZstdStream:
    """What the frames of a zstandard file hold; a frame cut off is an error.

    The library's own stream ends silently there. Input goes in by small pieces,
    as a piece of a bomb comes out many times larger.
    """

    _PIECE_BYTES = 1024

    def __init__(self, raw: BinaryIO, unpacker: ZstdDecompressor) -> None:
        self._raw = raw
        self._unpacker = unpacker
        self._frame = unpacker.decompressobj()
        self._inside = False
        self._packed = b""
        self._ready = memoryview(b"")

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""
        while not self._ready:
            piece = self._packed or self._raw.read(self._PIECE_BYTES)
            if not piece:
                if self._inside:
                    message = "it ends inside a frame"
                    raise EOFError(message)
                return b""
            if not self._inside:
                self._frame = self._unpacker.decompressobj()
            # A view, as a piece of a bomb is taken out in very many small reads.
            self._ready = memoryview(self._frame.decompress(piece))
            self._inside = not self._frame.eof
            self._packed = self._frame.unused_data if self._frame.eof else b""
        data, self._ready = self._ready[:size], self._ready[size:]
        return bytes(data)


class _GuardedStream(io.RawIOBase):
    """A stream that notices damage, bombs and files without an end."""

    def __init__(
        self,
        stream: _Readable,
        name: str,
        most_bytes: int,
        believed_bytes: int | None,
        damages: tuple[type[Exception], ...],
    ) -> None:
        super().__init__()
        self._stream = stream
        self._name = name
        self._most_bytes = most_bytes
        self._believed_bytes = believed_bytes
        self._damages = damages
        self._read_bytes = 0

    def readable(self) -> bool:
        """Return that the stream can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill `buffer`; return the number of bytes, 0 at the end."""
        view = memoryview(buffer).cast("B")
        try:
            data = self._stream.read(len(view))
        except self._damages as problem:
            what = f"the compressed data are damaged or cut off: {problem}"
            fix = "a file that is not compressed has no such suffix"
            raise FormatError(what, where=self._name, fix=fix) from None
        except OSError as problem:
            what = f"cannot read: {problem.strerror or problem}"
            raise InputError(what, where=self._name) from None
        self._read_bytes += len(data)
        self._refuse_excess()
        view[: len(data)] = data
        return len(data)

    def _refuse_excess(self) -> None:
        """Raise if more was read than the limits allow."""
        limit, what, fix = self._most_bytes, "the file is too long", ""
        if self._believed_bytes is not None and self._believed_bytes < limit:
            limit = self._believed_bytes
            what = "the compressed file grows without reason when it is decompressed"
            fix = "decompress it yourself if you trust it"
        if self._read_bytes > limit:
            allowed = f"{limit} bytes"
            raise FormatError(what, where=self._name, allowed=allowed, fix=fix)
