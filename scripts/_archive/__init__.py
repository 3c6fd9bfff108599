"""What left the log: the files below memory/archive, written and read."""

from __future__ import annotations

from _archive.append import Block, append_block, block_for
from _archive.chunks import Chunk, chunk_of, read_chunks, render_chunks
from _archive.observations import (
    ArchivedObservation,
    observation_of,
    read_observations,
    render_observations,
)
from _archive.older import (
    LINE,
    OLD_ARCHIVES,
    OldLine,
    by_name,
    name_of_print,
    names_of,
    read_old_lines,
    says_more,
)
from _archive.records import Record, headings, is_one_line, read_records, render_record
from _archive.references import Reference, read_reference, reference_to
from _archive.reflections import Archived, read_archived, render_archived

__all__ = [
    "LINE",
    "OLD_ARCHIVES",
    "Archived",
    "ArchivedObservation",
    "Block",
    "Chunk",
    "OldLine",
    "Record",
    "Reference",
    "append_block",
    "block_for",
    "by_name",
    "chunk_of",
    "headings",
    "is_one_line",
    "name_of_print",
    "names_of",
    "observation_of",
    "read_archived",
    "read_chunks",
    "read_observations",
    "read_old_lines",
    "read_records",
    "read_reference",
    "reference_to",
    "render_archived",
    "render_chunks",
    "render_observations",
    "render_record",
    "says_more",
]
