"""The cursors of all sessions as they stand in state.json: what a run with nothing to do compares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _transcripts.message import Cursor
    from _transcripts.session import Listing


class Cursors(Mapping[str, "Cursor"]):
    """Cursors by key, each made from its row (`Cursor.as_row`) when it is asked for: there may be 10,000, and a run
    with nothing new only compares `positions`. One that turns out damaged counts as none."""

    def __init__(self, rows: Mapping[str, str]) -> None:
        """Raises ValueError or AttributeError for what is no table of cursors."""
        self.rows = rows
        self.positions = {key: int(row.partition(" ")[0]) for key, row in rows.items()}
        self.sources = {key.partition(":")[0] for key in rows}
        if not self.sources <= {"jsonl", "sqlite"}:
            raise ValueError(f"cursors of {sorted(self.sources)}")

    @classmethod
    def of(cls, cursors: Mapping[str, Cursor]) -> Cursors:
        """These cursors as such a table; one that is a table already as it is."""
        return cursors if isinstance(cursors, cls) else cls({key: cursors[key].as_row() for key in cursors})

    def moved(self, moves: Mapping[str, Cursor]) -> Cursors:
        """The table with these cursors in place."""
        return Cursors({**self.rows, **{key: cursor.as_row() for key, cursor in moves.items()}})

    def of_existing(self, listing: Listing) -> Cursors:
        """The table without those of transcripts that a listing has not. A source in which nothing at all was found
        may be out of reach, a transcript from elsewhere ("@") is in no listing, and what is covered in part only its
        cursor knows: those stay."""
        there = {"jsonl": listing.stems, "sqlite": listing.row_ids}

        def stays(source: str, session_id: str, row: str) -> bool:
            return not there[source] or session_id in there[source] or " chars=" in row or "@" in session_id

        kept = {
            key: row
            for key, row in self.rows.items()
            if stays(key.partition(":")[0], key.partition(":")[2], row)
        }
        return Cursors(kept)

    def unchanged(self, key: str, end: int, generation: str) -> bool:
        """Whether the cursor of a session is at `end` of the same history. Nothing but comparing."""
        if self.positions.get(key) != end:
            return False
        if " gen=" not in self.rows[key]:
            return True
        cursor = self.get(key)
        return cursor is not None and cursor.generation == generation

    def __getitem__(self, key: str) -> Cursor:
        from _transcripts.message import Cursor

        try:
            return Cursor.from_row(key, self.rows[key])
        except ValueError as problem:
            raise KeyError(key) from problem

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return False
        try:
            return self.rows == Cursors.of(other).rows
        except (AttributeError, ValueError):
            return False  # of something else than cursors
