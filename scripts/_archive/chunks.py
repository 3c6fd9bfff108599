"""Several observations made one: the files below memory/archive/chunks, written and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from _archive.records import Record, is_one_line, read_records, render_record

ARROW = "→"


@dataclass(frozen=True)
class Chunk:
    """What several related observations say together. `first` and `last` are the days that it spans ("YYYY-MM-DD"),
    `sources` the ids of the observations and `source_archive` the file in which they lie. Raises ValueError for what
    the format cannot hold."""

    id: str
    topic: str
    first: str
    last: str
    confidence: str
    sources: "tuple[str, ...]"
    source_archive: str
    finding: str

    def __post_init__(self) -> None:
        if not self.id or not is_one_line(self.id):
            raise ValueError(f"not an id: {self.id[:80]!r}")
        for value in (self.topic, self.first, self.last, self.confidence, self.source_archive):
            if not is_one_line(value):
                raise ValueError(f"more than a line: {value[:80]!r}")
        for source in self.sources:
            if not source or not is_one_line(source) or "," in source:
                raise ValueError(f"not the id of an observation: {source[:80]!r}")
        if ARROW in self.first or ARROW in self.last:
            raise ValueError("a day cannot hold an arrow")


def render_chunks(chunks: Iterable[Chunk]) -> str:
    """The chunks as they are appended to a file. `read_chunks` is the inverse."""
    return "".join(map(_render, chunks))


def _render(chunk: Chunk) -> str:
    fields = {
        "Topic": chunk.topic,
        "Date range": f"{chunk.first} {ARROW} {chunk.last}" if chunk.first or chunk.last else "",
        "Confidence": chunk.confidence,
        "Source ids": ", ".join(chunk.sources),
        "Source archive": chunk.source_archive,
    }
    return render_record(chunk.id, fields, chunk.finding)


def read_chunks(text: str) -> Iterator[Chunk]:
    """The chunks of such a file, in order."""
    return map(chunk_of, read_records(text))


def chunk_of(record: Record) -> Chunk:
    """What a record says, whoever wrote it."""
    first, _, last = record.fields.get("Date range", "").partition("\n")[0].partition(ARROW)
    sources = record.fields.get("Source ids", "").replace("\n", ",").split(",")
    return Chunk(
        record.id,
        record.fields.get("Topic", "").partition("\n")[0].strip(),
        first.strip(),
        last.replace(ARROW, " ").strip() or first.strip(),
        record.fields.get("Confidence", "").partition("\n")[0].strip(),
        tuple(source.strip() for source in sources if source.strip()),
        record.fields.get("Source archive", "").partition("\n")[0].strip(),
        record.text,
    )
