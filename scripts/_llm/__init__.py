"""One question to a model: over any OpenAI-compatible HTTP API, or through OpenClaw's own provider.

`ask` goes down a chain of models until the caller accepts an answer, or raises a typed failure. What must outlive
the run (calls and tokens of the day, models that are gone, hold-offs) is a `Memo`, which the caller keeps.
"""

from __future__ import annotations

from _llm.ask import ask, parked_until
from _llm.failures import PromptCut
from _llm.http_api import offered_models
from _llm.memo import Hold, Memo
from _llm.question import Answer, Attempt, KeyRefused, Limits, ModelsFailed, Question

__all__ = [
    "Answer",
    "Attempt",
    "Hold",
    "KeyRefused",
    "Limits",
    "Memo",
    "ModelsFailed",
    "PromptCut",
    "Question",
    "ask",
    "offered_models",
    "parked_until",
]
