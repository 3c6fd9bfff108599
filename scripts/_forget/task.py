"""What one forgetting is to do, as .total-recall/forgetting.json has it until it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from _forget.order import Order

SCHEMA = 2


@dataclass(frozen=True)
class Burial:
    """What gets a tombstone: what it said, the uids of messages of which nothing else is left, and of those of which
    something is."""

    text: str
    uids: "tuple[str, ...]" = ()
    near: "tuple[str, ...]" = ()


@dataclass(frozen=True)
class Task:
    """All of it: `rows` are for the ledger, `words` those that were asked for, `at` is when (UTC)."""

    order: Order
    rows: "tuple[dict[str, Any], ...]"
    words: "tuple[str, ...]" = ()
    at: str = ""
    burials: "tuple[Burial, ...]" = ()

    def as_json(self) -> "dict[str, Any]":
        return {
            "schema": SCHEMA,
            "order": self.order.as_json(),
            "rows": list(self.rows),
            "words": list(self.words),
            "at": self.at,
            "burials": [[one.text, list(one.uids), list(one.near)] for one in self.burials],
        }

    @classmethod
    def from_json(cls, found: "Mapping[str, Any]") -> "Task":
        """The inverse of `as_json`. Raises ValueError, TypeError, LookupError or AttributeError for what is damaged.

        In a file of schema 1 the tombstones stand already.
        """
        return cls(
            Order.from_json(found["order"]),
            tuple(dict(row) for row in found["rows"]),
            tuple(map(str, found.get("words", ()))),
            str(found.get("at", "")),
            tuple(
                Burial(str(text), tuple(map(str, uids)), tuple(map(str, near)))
                for text, uids, near in found.get("burials", ())
            ),
        )
