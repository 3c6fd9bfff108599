"""One part of the log put to a model, and the steps that may come of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Callable, Optional

from _answer import AnswerCut
from _config import Config
from _reflect.answer import read_changes
from _reflect.gate import judge_proposals
from _reflect.question import Part, halves_of, question_about
from _state import Step

if TYPE_CHECKING:
    import _llm


@dataclass(frozen=True)
class Settled:
    """What came of one question: the steps that passed, who proposed them, and the refused proposals by reason."""

    steps: "tuple[Step, ...]"
    by: str
    refused: "Mapping[str, int]" = field(default_factory=dict)


def asked(
    part: Part,
    config: Config,
    update: "Callable[[Callable[[_llm.Memo], _llm.Memo]], _llm.Memo]",
    clock: "Callable[[], datetime]",
    urgent: bool,
) -> Settled:
    """A model's changes to a part. Raises AnswerCut and PromptCut (ask about less), other ModelErrors, and ConfigError
    for a refused key. Of a cut answer to a part that cannot be made smaller, the whole lines count."""
    import _llm

    accepted: "list[Settled]" = []

    def accept(found: _llm.Answer) -> Optional[str]:
        if found.cut and halves_of(part):
            raise AnswerCut(
                f"{found.model} stopped at its token limit", "set a model with a larger answer limit"
            )
        proposals, fault = read_changes(found.text, len(part), found.cut)
        if fault:
            return "cut at the token limit" if found.cut else fault
        judged = judge_proposals(proposals, part, found.model)
        accepted.append(Settled(judged.steps, found.model, judged.refused))
        return None

    question = question_about(part, clock(), config.zone)
    _llm.ask(question, config.reflector_models, config, accept, update, now=clock, urgent=urgent)
    return accepted[-1]
