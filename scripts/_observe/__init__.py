"""What `observer.py` does besides asking: keep how a run went, tell it, and clean the log."""

from __future__ import annotations
