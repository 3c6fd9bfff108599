"""Adding text to an archive file exactly once, however often it is tried."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from _compat import sha256_hex
from _files import append_file, cut_file, encode, private_folder, read_bytes


@dataclass(frozen=True)
class Block:
    """Text to append to one file, and what the file was when that was decided: so that it is appended once."""

    text: str
    size: int
    sha256: str


def block_for(path: Path, text: str, head: str) -> Block:
    """The Block that appends `text`, with `head` in front where the file is new."""
    before = read_bytes(path) or b""
    return Block(text if before else head + text, len(before), sha256_hex(before))


def append_block(path: Path, block: Block) -> None:
    """Append the block unless it is there; a half-written end of an earlier try is taken back first."""
    new = encode(block.text)
    found = read_bytes(path) or b""
    if sha256_hex(found[: block.size]) == block.sha256:
        tail = found[block.size :]
        if tail.startswith(new):
            return
        if tail and new.startswith(tail):
            cut_file(path, block.size, len(found))
    elif new in found:
        return
    private_folder(path.parent)
    append_file(path, new)
