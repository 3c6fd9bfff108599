"""`recall.py forget`: what would go, and with --apply, that it went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from _cli import Result, Run
from _counting import many
from _dream_files import Desk, make_desk
from _errors import UsageError
from _files import is_there
from _forget.carry import Forgotten, carry_out, clean_files, finish_unfinished, look, others
from _forget.choose import Choice, choose, seen
from _forget.order import is_id, is_line_name, query_of
from _gate.wording import ORDINARY
from _ledger import covered_uids
from _memory import iso
from _observations import shorten, tidy

SHOWN_CHARS, SHOWN_ITEMS = 160, 500
NOTES = (
    "OpenClaw's transcripts and its own search index still hold what was said; so do backups outside the workspace.",
    "Files of yours are named, not changed.",
)
GIT_NOTE = "The workspace is a Git repository: its history may still hold it."


def forget(desk: Desk, wanted: "Sequence[str]", apply: bool) -> Result:
    """Forget what the words or ids stand for; without `apply` only show it. Raises UsageError for ids that nothing is
    known of, and for words that stand in every second line; StorageError, with nothing written, when a folder or file
    of ours cannot be read."""
    ids, words, lines = read_wanted(wanted)
    before = seen(desk.places)
    if not apply or desk.run.dry_run:
        choice = choose(desk.places, ids, words, iso(desk.run.now), lines)
        refuse_unknown(choice)
        return told(desk, choice, look(desk, choice.order), "dry_run")
    # Looking takes seconds where memory is large: others wait only while it is done, and what they changed meanwhile is
    # looked at again.
    guess = choose(desk.places, ids, words, iso(desk.run.now), lines)
    clean = clean_files(desk, guess.order)
    with desk.holding_memory():
        finished = finish_unfinished(desk)
        choice = (
            guess
            if seen(desk.places) == before
            else choose(desk.places, ids, words, iso(desk.run.now), lines)
        )
        refuse_unknown(choice)
        files: "dict[str, int]" = {}
        if choice.items or choice.rows or choice.order.words:
            same = choice.order == guess.order
            files = carry_out(desk, choice, words, iso(desk.run.now), clean if same else {})
    anything = bool(choice.items or choice.rows or files)
    reason = "forgotten" if anything else "finished" if finished else "nothing_found"
    return told(desk, choice, Forgotten(files, *others(desk, choice.order)), reason)


def finish(run: Run) -> None:
    """Finish what a run that was killed had begun to forget, before anything is made of it. A dry run leaves it."""
    desk = make_desk(run)
    if not run.dry_run and is_there(desk.places.forgetting):
        with desk.holding_memory():
            finish_unfinished(desk)


def read_wanted(wanted: "Sequence[str]") -> "tuple[list[str], tuple[str, ...], tuple[str, ...]]":
    """The ids among the arguments, the words of the others, and the names of lines that have no id."""
    ids = [one.upper() for one in wanted if is_id(one.upper())]
    lines = tuple(one.lower() for one in wanted if is_line_name(one.lower()))
    others = (one for one in wanted if not is_id(one.upper()) and not is_line_name(one.lower()))
    words = query_of(" ".join(others))
    if not ids and not words and not lines:
        raise UsageError("there is nothing to forget", 'such as: recall.py forget "Anna Meier"')
    if words and not any(map(_is_telling, words)):
        raise UsageError("these words stand in every second line", "name something rarer, or ids")
    return ids, words, lines


def _is_telling(word: str) -> bool:
    bare = word.rstrip("*")
    return not bare.isascii() or (len(bare) > 1 and bare not in ORDINARY)


def refuse_unknown(choice: Choice) -> None:
    """Raise UsageError for an id that nothing is known of."""
    if choice.unknown:
        raise UsageError(
            f"nothing is known of {', '.join(choice.unknown[:5])}",
            "ids look like OBS-20261130-001 or CHUNK-20261130-001; recall.py search finds them",
        )


def told(desk: Desk, choice: Choice, found: Forgotten, reason: str) -> Result:
    """The result: counts and paths as facts, the texts only for whoever asked."""
    uids = {uid for alone, near in choice.origins.values() for uid in (*alone, *near)}
    sessions = (
        [name for name, covered in covered_uids(desk.places.ledger).items() if covered & uids] if uids else []
    )
    facts: "dict[str, Any]" = {
        "dry_run": reason == "dry_run",
        "observations": sum(not name.startswith("CHUNK-") for name in choice.why)
        - len(choice.forgotten_before),
        "chunks": sum(name.startswith("CHUNK-") for name in choice.why),
        "without_id": sum(not item.id for item in choice.items),
        "files": len(found.files),
        "files_not_changed": len(found.others),
        "files_not_looked_at": found.unseen,
        "kept_in_archive": list(choice.kept),
        "messages": len(uids),
        "sessions": len(sessions),
    }
    items = [
        {
            "id": item.id,
            "file": item.where,
            "text": shorten(item.text, SHOWN_CHARS),
            "why": choice.why.get(item.id, "asked for"),
        }
        for item in choice.items[:SHOWN_ITEMS]
    ]
    notes = [*NOTES, *([GIT_NOTE] if (desk.config.workspace / ".git").exists() else [])]
    page = "\n".join(page_of(items, choice, found, facts, reason)).lstrip("\n")
    page += "".join(f"\n{note}" for note in notes)
    # Paths are no facts: facts go into the log, and a file's name may be what was to be forgotten.
    shown = {"items": items, "changed": found.files, "not_changed": found.others, "notes": notes}
    return Result("ok", reason, facts, shown=shown, page=page)


def page_of(
    items: "Sequence[Mapping[str, str]]",
    choice: Choice,
    found: Forgotten,
    facts: "Mapping[str, Any]",
    reason: str,
) -> Iterator[str]:
    """The result for reading."""
    is_dry = reason == "dry_run"
    if not items and not found.files:
        yield "Nothing was found." if is_dry else "Nothing of it is in memory."
    for item in items:
        about = filter(None, (item["id"], item["file"], item["why"]))
        yield f"{tidy(item['text'])}\n    {' · '.join(map(tidy, about))}"
    if len(choice.items) > len(items):
        yield f"and {len(choice.items) - len(items)} more"
    if found.files:
        yield f"\nFrom these files {'would go' if is_dry else 'went'} what is about it:"
        yield from (f"  {tidy(name)}: {number}" for name, number in sorted(found.files.items()))
    if choice.kept:
        yield f"\nOther parts of what was made of several stay in the archive: {', '.join(choice.kept)}"
    if found.others:
        yield "\nThese files are not Total Recall's and still hold it:"
        yield from (f"  {tidy(name)}: {many(number, 'line')}" for name, number in found.others.items())
    if found.unseen:
        were = many(found.unseen, "file was", "files were")
        yield f"\n{were} not looked at, and may hold it: unreadable, or larger than 5 MB, or too many."
    if facts["messages"]:
        yield f"\nIt came from {many(facts['messages'], 'message')} of {many(facts['sessions'], 'conversation')}."
    if is_dry and (items or found.files):
        yield "\nNothing was changed. With --apply it is forgotten, for good."
