"""Layer 2: make memory/observations.md smaller without losing what matters.

Duplicates become one line, low entries older than 7 days go, days like "tomorrow" become dates; then a model is asked,
part by part, what is out of date and what can be said in one line. Each change is checked by itself. What is important
(high priority, rules, goals, what is still to come, the last 24 hours) stays word for word, and every line that leaves
lies in memory/archive/reflections/ with the reason and the line it went into.

  reflector.py              reflect when the log is over REFLECTOR_WORD_THRESHOLD (hourly, and by the observer)
  reflector.py --force      reflect now, however small it is
  reflector.py --dry-run    say what would leave by the rules and how many questions it takes; ask and write nothing
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, Optional

import _cli
from _answer import AnswerCut, is_about_the_window
from _calls import update_calls
from _cli import Result, Run
from _compat import parse_instant
from _config import PROVIDERS, Config
from _errors import BusyError, ConfigError, MissingPackage, ModelError, TotalRecallError
from _files import decode, lock, private_folder, read_bytes, remove_file, replace_file
from _memory import iso, refresh_brief
from _observations import count_words
from _reflect import (
    Item,
    Part,
    asked,
    halves_of,
    may_change,
    parts_of,
    read_items,
    steps_by_rule,
    system_prompt,
)
from _state import Places, Reflection, State, Step, commit_reflection, load_state, replay, save_state

if TYPE_CHECKING:
    import _llm

MEMORY_LOCK_WAIT_SECONDS = 30.0
# The observer waits 15 minutes for a reflection that it starts; one question takes 2 at most for each model.
DEADLINE = timedelta(minutes=8)
BACKUPS_KEPT = 10
BACKUP_NAME = re.compile(r"observations-\d{8}-\d{6}\.md\.bak")
# When it is worth while to reflect again on a log that is still over the threshold.
GROWTH, AGAIN_AFTER = 1.10, timedelta(days=1)


@dataclass
class Work:
    """One run, and what its result will say. `resume` is the day with which the next run goes on when this one stops
    now; `failure` what kept a question from being answered."""

    run: Run
    places: Places
    urgent: bool
    counts: "dict[str, int]" = field(default_factory=dict)
    refused: "dict[str, int]" = field(default_factory=dict)
    models: "set[str]" = field(default_factory=set)
    backup: str = ""
    archive: str = ""
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

    @contextmanager
    def memory(self) -> Iterator[None]:
        """Hold the memory lock: for reading and writing files, never while a model is asked."""
        with lock(self.places.memory_lock, MEMORY_LOCK_WAIT_SECONDS):
            yield

    def log(self) -> str:
        """The text of observations.md, "" when there is none."""
        return decode(read_bytes(self.places.observations) or b"")

    def items(self) -> "tuple[Item, ...]":
        """The log's observations as they are by now."""
        return read_items(self.log(), self.run.now, self.config.zone)


def reflect(run: Run, force: bool) -> Result:
    """Apply the rules, ask about each part, tell."""
    work = Work(run, Places(run.config.observations_path, run.config.private_dir), force)
    words = count_words(work.log())
    if not force and words <= work.config.reflect_over_words and not work.places.journal.exists():
        run.say(f"reflector: {words} words are not over {work.config.reflect_over_words}: nothing to do")
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
    with work.memory():
        work.count(replayed=int(replay(work.places)))
        state = load_state(work.places)
    before, items = count_words(work.log()), work.items()
    work.count(entries=len(items), kept_protected=sum(bool(item.protected) for item in items))
    work.resume = state.reflect_from
    if not force and not is_worth_while(work, state, before):
        finish(work, lambda state, words: state)
        over = before > work.config.reflect_over_words
        return Result("ok", "nothing_to_gain" if over else "under_threshold", facts_of(work, before))
    try:
        carry_out(work, steps_by_rule(items, work.config.zone))
        ask_about_all(work)
    except KeyboardInterrupt:
        after = finish(work, stopped(work))
        return _cli.interrupted(facts_of(work, before, after))
    after = finish(work, stopped(work) if work.resume else ended(work))
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
    with work.memory():
        replay(work.places)
        if not work.backup:
            work.backup = keep_copy(work)
        done = commit_reflection(work.places, Reflection(iso(work.run.now), work.today, tuple(steps), prompt))
    work.count(**done)
    if done["merged"] or done["archived"]:
        work.archive = str(work.places.reflections / f"{work.today}.md")


def keep_copy(work: Work) -> str:
    """Keep the log's bytes under the time of this run, the last 10 such copies; returns the path of the new one.

    A copy of this second that holds other bytes is an earlier run's: then the next second's name is taken.
    """
    data, folder = read_bytes(work.places.observations) or b"", work.places.backups
    private_folder(folder)
    moment = work.run.now.astimezone(work.config.zone)
    path = folder / f"observations-{moment:%Y%m%d-%H%M%S}.md.bak"
    while (found := read_bytes(path)) is not None and found != data:
        moment += timedelta(seconds=1)
        path = folder / f"observations-{moment:%Y%m%d-%H%M%S}.md.bak"
    replace_file(path, data)
    copies = [one for one in sorted(folder.iterdir()) if BACKUP_NAME.fullmatch(one.name) and one.is_file()]
    for old in copies[:-BACKUPS_KEPT]:
        remove_file(old)
    return str(path)


# Asking --------------------------------------------------------------------------------------------------------------


def ask_about_all(work: Work) -> None:
    """Ask about each part in turn and commit each answer, until all are done, no model can be asked, or time is up."""
    if work.config.provider == "none":
        work.resume = ""
        return
    began = work.run.clock()
    for part in parts_of(work.items(), work.resume):
        work.resume = part[0].observation.date
        if work.run.clock() - began > DEADLINE:
            work.count(out_of_time=1)
            return
        try:
            ask_about(work, part)
        except MissingPackage:
            raise  # the run begins anew where the package is
        except (ModelError, ConfigError) as problem:
            work.failure = problem
            if not (isinstance(problem, ModelError) and is_about_the_window(problem)):
                return
            work.count(parts_unanswered=1)
    work.resume = ""


def ask_about(work: Work, part: Part) -> None:
    """Ask about a part, about less at a time where an answer or the question is cut."""
    from _llm import PromptCut

    pieces = [part]
    while pieces:
        piece = pieces.pop(0)
        if not may_change(piece):
            continue
        try:
            settled = asked(
                piece, work.config, lambda change: remember(work, change), work.run.clock, work.urgent
            )
        except (AnswerCut, PromptCut):
            halves = halves_of(piece)
            if not halves:
                raise
            pieces[:0] = halves
            continue
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
    with work.memory():
        replay(work.places)
        state = load_state(work.places)
        words, made_from = refresh_brief(work.places, state)
        new = change(replace(state, brief_of=made_from), words)
        if new != state:
            save_state(work.places, new)
    return words


def stopped(work: Work) -> "Callable[[State, int], State]":
    """The change to the state that a run makes which has to be gone on with."""
    return lambda state, _words: replace(state, reflect_from=work.resume)


def ended(work: Work) -> "Callable[[State, int], State]":
    """The change to the state that a run makes which came to the end."""
    return lambda state, words: replace(
        state, reflect_from="", reflected_at=iso(work.run.now), reflected_words=words
    )


def tell(work: Work, before: int, after: int) -> Result:
    """The result, and the sentence for a person. Without a single answer the run has failed, whatever the rules did."""
    gone = work.counts.get("merged", 0) + work.counts.get("archived", 0)
    facts = facts_of(work, before, after)
    kept = f"; they are in {work.archive}" if gone else ""
    work.run.say(f"reflector: {before} words became {after}: {gone} lines left{kept}")
    if work.failure is not None and (work.resume or not work.counts.get("questions")):
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
        f"reflector: {len(steps)} of {len(items)} lines would leave by the rules, and {questions} questions would be "
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
    return reflect(run, options.force)


def variables(options: argparse.Namespace) -> "dict[str, str]":
    """The variables that flags set."""
    return {"LLM_PROVIDER": options.provider} if options.provider else {}


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the reflector; returns the exit code."""
    return _cli.run("reflector", build_parser(), work, argv, variables)


if __name__ == "__main__":
    sys.exit(main())
