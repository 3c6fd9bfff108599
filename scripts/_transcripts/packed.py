"""Compressed rows: the home of zstandard."""

from __future__ import annotations

from _errors import MissingPackage

LARGEST_ROW = 64 << 20  # bytes that a compressed row may have when unpacked; OpenClaw itself stops at 4 MiB
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def unpack(packed: bytes) -> bytes:
    """The bytes in one zstd frame.

    Raises ValueError when it is damaged or too large, MissingPackage when there is no zstandard.
    """
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14 and newer
    except ImportError:
        return _unpack_with_package(packed)
    try:
        unpacker = zstd.ZstdDecompressor()
        found = unpacker.decompress(packed, LARGEST_ROW + 1)
    except zstd.ZstdError as problem:
        raise ValueError(str(problem)) from problem
    return _checked(found, unpacker.eof)


def _unpack_with_package(packed: bytes) -> bytes:
    try:
        import zstandard
    except ImportError as problem:
        raise MissingPackage("zstandard") from problem
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
            found = reader.read(LARGEST_ROW + 1)
            return _checked(found, bool(found))
    except zstandard.ZstdError as problem:
        raise ValueError(str(problem)) from problem


def _checked(found: bytes, complete: bool) -> bytes:
    if len(found) > LARGEST_ROW:
        raise ValueError(f"it is larger than {LARGEST_ROW} bytes")
    if not complete:
        raise ValueError("it is cut off")
    return found
