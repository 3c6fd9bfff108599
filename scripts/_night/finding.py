"""What is found by what: search hooks for what leaves the log, and a chunk's finding.

A model is asked where there is one; without any, or when its answer does not pass, both are made of the observations'
own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Callable, Optional

from _archive import Chunk
from _calls import update_calls
from _dream_files.desk import Desk
from _errors import ConfigError, MissingPackage, ModelError
from _files import decode, read_bytes
from _gate import mask_secrets
from _gate.notes import problem_with
from _hooks import (
    OWN_SYNONYMS,
    Asked,
    Synonyms,
    checked,
    expand,
    question_for,
    read_answer,
    read_synonyms,
    shipped_synonyms,
    synonyms_with,
)
from _hooks.asking import MOST_ITEMS
from _likeness import features, words_of
from _night.steps import Leaving
from _observations import estimate_tokens, tidy
from _prompts import fence_for, load_prompt
from _reflect import Item, read_items
from _reflect.gate import invented

if TYPE_CHECKING:
    import _llm

HOOKS = {1: 1, 2: 5}  # by phase
MAX_FINDING_TOKENS, MAX_ANSWER_TOKENS = 100, 400


@dataclass
class Finder:
    """Makes hooks and findings. `is_over` tells when there is no more time to ask; `models` are those that an answer
    was taken from, `refused` counts what a model wrote and nobody could use."""

    desk: Desk
    is_over: "Callable[[], bool]"
    models: "tuple[str, ...]" = ()
    calls: int = 0
    refused: int = 0
    failure: str = ""
    _synonyms: "Optional[Synonyms]" = field(default=None, repr=False)

    @property
    def may_ask(self) -> bool:
        """Whether there is a model, it has not failed tonight, and there is time."""
        config = self.desk.config
        return (
            config.provider != "none" and config.dream_phase > 1 and not self.failure and not self.is_over()
        )

    def hooks_for(self, leaving: "Sequence[Leaving]") -> "dict[str, tuple[str, ...]]":
        """By id, the search phrases under which each is found again, the first one for its hook line."""
        found: "dict[str, tuple[str, ...]]" = {}
        for start in range(0, len(leaving), MOST_ITEMS):
            part = leaving[start : start + MOST_ITEMS]
            asked = self._asked(part)
            found.update(
                {one.going.id: self._hooks(one, asked.get(place, ())) for place, one in enumerate(part)}
            )
        return found

    def _hooks(self, one: Leaving, phrases: "tuple[str, ...]") -> "tuple[str, ...]":
        """The item's own words first, then a model's phrases that pass, then other words for its own."""
        count = HOOKS[min(2, self.desk.config.dream_phase)]
        kind, said = one.observation.type, one.observation.date
        own = expand(masked(one.text), kind, said, self.synonyms, count)
        good, refused = checked(one.text, phrases, said) if phrases else ((), {})
        self.refused += sum(refused.values())
        if not own:
            own = (tidy(masked(one.text), 60) or one.going.id,)
        return tuple(dict.fromkeys([own[0], *map(masked, good), *own[1:]]))[:count]

    def _asked(self, part: "Sequence[Leaving]") -> "dict[int, tuple[str, ...]]":
        """A model's phrases by the place of their item; none when there is no model or no use in its answer."""
        if not self.may_ask:
            return {}
        found: "dict[int, tuple[str, ...]]" = {}

        def accept(answer: _llm.Answer) -> Optional[str]:
            found.clear()
            found.update(read_answer(answer.text, len(part), answer.cut))
            return None if found else "no phrases"

        self._ask(question_for([Asked(one.text, one.observation.date) for one in part]), accept)
        return found

    @property
    def synonyms(self) -> Synonyms:
        """The shipped table with the person's own over it."""
        if self._synonyms is None:
            own, _wrong = read_synonyms(decode(read_bytes(self.desk.memory / OWN_SYNONYMS) or b""))
            self._synonyms = synonyms_with(own, shipped_synonyms())
        return self._synonyms

    # Findings

    def finding_for(self, chunk: Chunk, sources: "Sequence[Leaving]") -> Chunk:
        """The chunk with a model's finding, when that is shorter than the sources and says nothing that they do not;
        else as it is."""
        if not self.may_ask:
            return chunk
        items = [self._item(one) for one in sources]
        found: "list[str]" = []

        def accept(answer: _llm.Answer) -> Optional[str]:
            text = tidy(mask_secrets(answer.text.strip().strip('"'))[0])
            problem = "cut at the token limit" if answer.cut else unfit(text, items)
            if not problem:
                found[:] = [text]
            return problem or None

        self._ask(question_about(chunk, items), accept)
        self.refused += not found
        return replace(chunk, finding=found[0]) if found else chunk

    def _item(self, one: Leaving) -> Item:
        head = f"Date: {one.observation.date}\n" if one.observation.date else ""
        return read_items(head + one.entry.raw, self.desk.run.now, self.desk.config.zone)[0]

    def _ask(self, question: "_llm.Question", accept: "Callable[[_llm.Answer], Optional[str]]") -> None:
        """Ask the reflector's models. After a failure none is asked again tonight: the night goes on without."""
        import _llm

        config = self.desk.config
        try:
            answer = _llm.ask(
                question, config.reflector_models, config, accept, self._update, now=self.desk.run.clock
            )
        except MissingPackage:
            raise  # the run begins anew where the package is
        except _llm.PromptCut:
            return
        except (ModelError, ConfigError) as problem:
            self.failure = problem.code
            return
        if answer.model not in self.models:
            self.models = (*self.models, answer.model)

    def _update(self, change: "Callable[[_llm.Memo], _llm.Memo]") -> "_llm.Memo":
        new, called = update_calls(self.desk.places, change)
        self.calls += called
        return new


def masked(text: str) -> str:
    """A text without secrets, which no hook line may carry further."""
    return mask_secrets(text)[0]


def question_about(chunk: Chunk, items: "Sequence[Item]") -> "_llm.Question":
    """The question for one sentence that says what several notes say."""
    import _llm

    notes = "\n".join(f"- [{item.observation.date}] {masked(item.text)}" for item in items)
    user = load_prompt("chunk-notes.txt").fill(fence=fence_for(notes), notes=notes, topic=masked(chunk.topic))
    return _llm.Question(load_prompt("chunk-system.txt").text, user, MAX_ANSWER_TOKENS)


def unfit(text: str, items: "Sequence[Item]") -> str:
    """Why a finding cannot stand for its sources; "" when it can: it is a note, shorter than they are, and says nothing
    that is not said there, with each number and name beside those that it stood with."""
    if problem_with(text):
        return "not a note"
    size = sum(estimate_tokens(item.text) for item in items)
    if not text or estimate_tokens(text) > min(MAX_FINDING_TOKENS, 0.75 * size):
        return "not shorter"
    found = invented(text, items)
    if found:
        return found
    said = features(text)
    if said.negated != any(features(item.text).negated for item in items):
        return "negation"
    return "" if all(_from_one(part, items) for part in text.replace(";", ".").split(". ")) else "mixed"


def _from_one(part: str, items: "Sequence[Item]") -> bool:
    """Whether the numbers of a sentence stand together, with its names, in one source."""
    said = features(part)
    if not said.numbers:
        return True
    wanted = said.numbers | said.names
    return any(wanted <= set(words_of(item.text)) | set(words_of(item.observation.date)) for item in items)
