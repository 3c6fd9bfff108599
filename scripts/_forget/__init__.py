"""Forgetting: what goes with a thing that is to be forgotten, taken out of every file of ours, and kept out."""

from __future__ import annotations

from _forget.command import finish, forget
from _forget.order import is_id

__all__ = ["finish", "forget", "is_id"]
