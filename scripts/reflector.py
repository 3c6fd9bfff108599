"""Layer 2: make memory/observations.md smaller without losing what matters.

Duplicates become one line, low entries older than 7 days go, days like "tomorrow" become dates; then a model is asked,
part by part, what a later line says too and what can be said in one line. Each change is checked by itself. What is
important (high priority, rules, goals, what is still to come, the last 24 hours) stays word for word, and every line
that leaves lies in memory/archive/reflections/ with the reason and the line it went into.

  reflector.py              reflect when the log is over REFLECTOR_WORD_THRESHOLD (hourly, and by the observer)
  reflector.py --force      reflect now, however small it is
  reflector.py --dry-run    say what would leave by the rules and how many questions it takes; ask and write nothing
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Callable, Optional

import _cli
from _answer import AnswerCut, is_about_the_window
from _calls import update_calls
from _cli import Result, Run
from _compat import parse_instant
from _config import PROVIDERS, Config
from _counting import many
from _errors import BusyError, ConfigError, MissingPackage, ModelError, TotalRecallError
from _files import decode, is_there, lock, private_folder, read_bytes
from _memory import iso, keep_copy, refresh_brief
from _observations import count_words
from _reflect import (
    Item,
    Part,
    asked,
    first_place,
    halves_of,
    may_change,
    parts_of,
    place_of,
    read_items,
    steps_by_rule,
    system_prompt,
)
from _state import Places, Reflection, State, Step, commit_reflection, load_state, replay, save_state

if TYPE_CHECKING:
    import _llm

# The observer waits 15 minutes for a reflection that it starts; one question takes 2 at most for each model.
DEADLINE = timedelta(minutes=8)
# When it is worth while to reflect again on a log that is still over the threshold.
GROWTH, AGAIN_AFTER = 1.10, timedelta(days=1)


@dataclass
class Work:
    """One run, and what its result will say. `stopped` says whether something is left to be asked about, and `resume`
    is the place (`place_of`) at which the next run goes on; `failure` is what kept a question from being answered."""

    run: Run
    places: Places
    urgent: bool
    counts: "dict[str, int]" = field(default_factory=dict)
    refused: "dict[str, int]" = field(default_factory=dict)
    models: "set[str]" = field(default_factory=set)
    backup: str = ""
    archive: str = ""
    stopped: bool = True
    resume: str = ""
    failure: Optional[TotalRecallError] = None

    @property
    def config(self) -> Config:
        return self.run.config

    @property
    def today(self) -> str:
        """The person's day."""
        return f"{self.run.now.astimezone(self.config.zone):%Y-%m-%d}"

    def count(self, **counts: int) -> None:
        """Add to the named counts of the result."""
        for name, number in counts.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def log(self) -> str:
        """The text of observations.md, "" when there is none."""
        return decode(read_bytes(self.places.observations) or b"")

    def items(self) -> "tuple[Item, ...]":
        """The log's observations as they are by now. Only under the memory lock do log and state belong together."""
        waiting = load_state(self.places).provisional
        return read_items(self.log(), self.run.now, self.config.zone, waiting)


def reflect(run: Run, force: bool) -> Result:
    """Apply the rules, ask about each part, tell."""
    work = Work(run, Places(run.config.observations_path, run.config.private_dir), force)
    words = count_words(work.log())
    if not force and words <= work.config.reflect_over_words and not is_there(work.places.journal):
        run.say(
            f"reflector: {many(words, 'word')}, not over the {work.config.reflect_over_words} of the threshold: "
            "nothing to do"
        )
        return Result("ok", "under_threshold", facts_of(work, words))
    if run.dry_run:
        return look_only(work, words)
    private_folder(work.places.private)
    with ExitStack() as held:
        try:
            held.enter_context(lock(work.places.reflector_lock))
        except BusyError as problem:
            run.say(f"reflector: {problem}")
            return Result("skipped", "locked", facts_of(work, words))
        return reflect_alone(work, force)


def reflect_alone(work: Work, force: bool) -> Result:
    """The run itself, while no other reflector of this memory runs."""
    with work.places.memory():
        work.count(replayed=int(replay(work.places)))
        state, before, items = load_state(work.places), count_words(work.log()), work.items()
    work.count(entries=len(items), kept_protected=sum(bool(item.protected) for item in items))
    work.resume = state.reflect_from or first_place(items)
    if not force and not is_worth_while(work, state, before):
        finish(work, lambda state, words: state)
        over = before > work.config.reflect_over_words
        return Result("ok", "nothing_to_gain" if over else "under_threshold", facts_of(work, before))
    try:
        carry_out(work, steps_by_rule(items, work.config.zone))
        ask_about_all(work)
    except KeyboardInterrupt:
        after = finish(work, so_far(work))
        return _cli.interrupted(facts_of(work, before, after))
    except TotalRecallError:
        with suppress(TotalRecallError):  # what stopped the run is told, not that this failed too
            finish(work, so_far(work))
        raise
    after = finish(work, so_far(work) if work.stopped else ended(work))
    return tell(work, before, after)


def is_worth_while(work: Work, state: State, words: int) -> bool:
    """Whether a log over the threshold is reflected on: not again and again where nothing is to be gained."""
    if words <= work.config.reflect_over_words:
        return False
    last = parse_instant(state.reflected_at) if state.reflected_at else None
    if last is None or state.reflect_from or words >= GROWTH * state.reflected_words:
        return True
    return not timedelta(0) <= work.run.now - last < AGAIN_AFTER


# Changing ------------------------------------------------------------------------------------------------------------


def carry_out(work: Work, steps: "Sequence[Step]", prompt: str = "") -> None:
    """Commit some steps and count them; in front of the first, keep a copy of the log."""
    if not steps:
        return
    with work.places.memory():
        replay(work.places)
        if not work.backup:
            work.backup = keep_copy(work.places, work.run.now.astimezone(work.config.zone))
        done = commit_reflection(work.places, Reflection(iso(work.run.now), work.today, tuple(steps), prompt))
    work.count(**done)
    if done["merged"] or done["archived"]:
        work.archive = str(work.places.reflections / f"{work.today}.md")


# Asking --------------------------------------------------------------------------------------------------------------


def ask_about_all(work: Work) -> None:
    """Ask about each part in turn and commit each answer, until all are done, no model can be asked, or time is up.

    Where an answer or the question is cut, less is asked about at a time, while there is time; then the piece is passed
    over, so that the next run comes to what is behind it.
    """
    began = work.run.clock()
    with work.places.memory():
        items = work.items()
    parts = list(parts_of(items, work.resume)) if work.config.provider != "none" else []
    while parts:
        part = parts.pop(0)
        work.resume = place_of(part[0])
        if is_late(work, began):
            work.count(out_of_time=1)
            return
        try:
            ask_about(work, part)
        except MissingPackage:
            raise  # the run begins anew where the package is
        except (ModelError, ConfigError) as problem:
            smaller = () if is_late(work, began) else smaller_than(part, problem)
            parts[:0] = smaller
            if smaller:
                continue
            work.failure = problem
            if not (isinstance(problem, ModelError) and is_about_the_window(problem)):
                return
            work.count(parts_unanswered=1)
    work.stopped = False


def is_late(work: Work, began: datetime) -> bool:
    """Whether no other question may be asked."""
    return work.run.clock() - began > DEADLINE


def smaller_than(part: Part, problem: TotalRecallError) -> "tuple[Part, ...]":
    """The pieces of a part that are worth asking about when its question, or the answer to it, was too long."""
    from _llm import PromptCut

    return tuple(filter(may_change, halves_of(part))) if isinstance(problem, (AnswerCut, PromptCut)) else ()


def ask_about(work: Work, part: Part) -> None:
    """Ask one question and carry out what comes of it."""
    settled = asked(part, work.config, lambda change: remember(work, change), work.run.clock, work.urgent)
    work.models.add(settled.by)
    work.count(questions=1)
    for reason, number in settled.refused.items():
        work.refused[reason] = work.refused.get(reason, 0) + number
    carry_out(work, settled.steps, system_prompt().version)


def remember(work: Work, change: "Callable[[_llm.Memo], _llm.Memo]") -> "_llm.Memo":
    """Change what is kept about asking models, and count the call."""
    new, called = update_calls(work.places, change)
    work.count(calls=int(called))
    return new


# Telling -------------------------------------------------------------------------------------------------------------


def finish(work: Work, change: "Callable[[State, int], State]") -> int:
    """Refresh the brief and write down how far this run came; returns the size of the log in words."""
    with work.places.memory():
        with suppress(TotalRecallError):  # what cannot be completed now is by the next run
            replay(work.places)
        state = load_state(work.places)
        words, made_from = refresh_brief(work.places, state)
        new = change(state._replace(brief_of=made_from), words)
        if new != state:
            save_state(work.places, new)
    return words


def so_far(work: Work) -> "Callable[[State, int], State]":
    """The change to the state that a run makes which has to be gone on with."""
    return lambda state, _words: state._replace(reflect_from=work.resume)


def ended(work: Work) -> "Callable[[State, int], State]":
    """The change to the state that a run makes which came to the end."""
    return lambda state, words: state._replace(
        reflect_from="", reflected_at=iso(work.run.now), reflected_words=words
    )


def tell(work: Work, before: int, after: int) -> Result:
    """The result, and the sentence for a person. Without a single answer the run has failed, whatever the rules did."""
    gone = work.counts.get("merged", 0) + work.counts.get("archived", 0)
    facts = facts_of(work, before, after)
    kept = f"; they are in {work.archive}" if gone else ""
    work.run.say(f"reflector: {many(before, 'word')} before, {after} now; lines taken out: {gone}{kept}")
    if work.failure is not None and (work.stopped or not work.counts.get("questions")):
        return _cli.failed(work.failure, facts)
    return Result("ok", "reflected" if gone else "nothing_to_gain", facts)


def facts_of(work: Work, before: int, after: Optional[int] = None) -> "dict[str, Any]":
    """The counts, with the usual ones always there."""
    usual = ("entries", "kept_protected", "merged", "archived", "written", "questions", "calls")
    return {
        "provider": work.config.provider,
        "models": sorted(work.models),
        "words_before": before,
        "words_after": before if after is None else after,
        **dict.fromkeys(usual, 0),
        **{name: number for name, number in work.counts.items() if number},
        "refused": sum(work.refused.values()),
        "refused_for": dict(sorted(work.refused.items())),
        "observations_path": str(work.places.observations),
        "backup": work.backup,
        "archive": work.archive,
    }


def look_only(work: Work, words: int) -> Result:
    """--dry-run: what would leave by the rules, and how many questions there are about the rest."""
    items = work.items()
    steps = steps_by_rule(items, work.config.zone)
    leaving = {id(entry) for step in steps for entry in step.leaving}
    rest = [item for item in items if id(item.entry) not in leaving]
    stay = [step for step in steps if step.kept or step.new]
    work.count(
        entries=len(items),
        kept_protected=sum(bool(item.protected) for item in items),
        merged=len(stay),
        archived=len(steps) - len(stay),
    )
    questions = len(parts_of(rest)) if work.config.provider != "none" else 0
    work.run.say(
        f"reflector: {len(steps)} of {many(len(items), 'line')} would leave by the rules, and "
        f"{many(questions, 'question')} would be "
        "asked about the rest; nothing was asked or written"
    )
    return Result("ok", "dry_run", {**facts_of(work, words), "questions": questions})


# The command line ----------------------------------------------------------------------------------------------------


def build_parser() -> _cli.Parser:
    """The flags of this layer."""
    parser = _cli.make_parser("reflector", __doc__ or "")
    parser.add_argument(
        "--force", action="store_true", help="reflect however small the log is, and again at once"
    )
    parser.add_argument("--provider", choices=PROVIDERS, help="who is asked (LLM_PROVIDER)")
    return parser


def work(options: argparse.Namespace, run: Run) -> Result:
    """Carry it out."""
    if is_there(Places(run.config.observations_path, run.config.private_dir).forgetting):
        from _forget import finish

        finish(run)
    return reflect(run, options.force)


def variables(options: argparse.Namespace) -> "dict[str, str]":
    """The variables that flags set."""
    return {"LLM_PROVIDER": options.provider} if options.provider else {}


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the reflector; returns the exit code."""
    return _cli.run("reflector", build_parser(), work, argv, variables)


if __name__ == "__main__":
    sys.exit(main())
