"""Adding text to an archive file exactly once, however often it is tried."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from _compat import sha256_hex
from _files import append_file, cut_file, encode, private_folder, read_bytes

# By folder; the day stands behind it.
_HEADS = {
    "observations": "# Archived observations,",
    "chunks": "# Chunks,",
    "reflections": "# What left memory on",
}


class Block(NamedTuple):
    """Text to append to one file, and what the file was when that was decided: so that it is appended once."""

    text: str
    size: int
    sha256: str


def block_for(path: Path, text: str) -> Block:
    """The Block that appends `text` to the file of a day: behind a head where the file is new, after an empty line
    where it does not end one."""
    before = read_bytes(path) or b""
    if not before:
        lead = f"{_HEADS[path.parent.name]} {path.stem}\n\n" if path.parent.name in _HEADS else ""
    else:
        lead = "" if before.endswith(b"\n") else "\n\n"
    return Block(lead + text, len(before), sha256_hex(before))


def append_block(path: Path, block: Block) -> None:
    """Append the block unless it is there, whatever others have appended in front of it or behind it meanwhile; a
    half-written end of an earlier try is taken back first."""
    new = encode(block.text)
    found = read_bytes(path) or b""
    since = block.size if sha256_hex(found[: block.size]) == block.sha256 else 0
    if new in found[since:]:
        return
    half = _begun(found, since, new)
    if half:
        cut_file(path, len(found) - half, len(found))
    private_folder(path.parent)
    append_file(path, new)


def _begun(found: bytes, since: int, new: bytes) -> int:
    """How many bytes of `new` stand at the end of a file, from byte `since` on: where it begins, or at a new line."""
    for size in range(min(len(new) - 1, len(found) - since), 0, -1):
        start = len(found) - size
        begins_here = start == since or found[start - 1 : start] == b"\n"
        if begins_here and found.startswith(new[: min(size, 64)], start) and found.endswith(new[:size]):
            return size
    return 0
