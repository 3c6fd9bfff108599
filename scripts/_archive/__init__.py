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
from _archive.records import Record, headings, is_one_line, read_records, render_record
from _archive.references import Reference, read_reference, reference_to
from _archive.reflections import Archived, read_archived, render_archived

__all__ = [
    "Archived",
    "ArchivedObservation",
    "Block",
    "Chunk",
    "Record",
    "Reference",
    "append_block",
    "block_for",
    "chunk_of",
    "headings",
    "is_one_line",
    "observation_of",
    "read_archived",
    "read_chunks",
    "read_observations",
    "read_records",
    "read_reference",
    "reference_to",
    "render_archived",
    "render_chunks",
    "render_observations",
    "render_record",
]
