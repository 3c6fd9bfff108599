"""Decide on what the night proposes for files that are yours: AGENTS.md, MEMORY.md, TOOLS.md and favorites.md.

Proposals wait in memory/dream-staging/, each with the words that it rests on and their dates. Nothing is written to a
file of yours but by `approve NAME --apply`.

  staging_review.py list                          what waits; --all: also what was decided on
  staging_review.py show NAME                     one proposal, and what it would change
  staging_review.py approve NAME                  rename it to NAME.approved.md; you write the text yourself
  staging_review.py approve NAME --apply          also append its text to the file, and keep a copy of the file first
  staging_review.py approve NAME --apply --dry-run    show the difference only
  staging_review.py reject NAME --reason TEXT     move it to rejected/: it is not proposed again

NAME is the name of the file or the beginning of it. Edit a proposal before you approve it if you like: what stands in
the file is applied. On a terminal the answer is text; elsewhere, and with --json, it is JSON. READ_ONLY_MODE is the
night's: what you decide here is done.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional

import _cli
from _cli import Commands, Result, Run
from _dream_files import Desk, make_desk
from _dream_files.desk import inside
from _dream_files.staging import staging_folder
from _errors import BusyError, RefusedError, UsageError
from _files import (
    append_file,
    decode,
    encode,
    private_folder,
    read_bytes,
    remove_file,
    rename_file,
    replace_file,
)
from _forget import finish
from _memory import keep_bytes
from _observations import tidy
from _staging import (
    APPROVED,
    REJECTED,
    WAITING,
    Proposal,
    Staged,
    is_waiting_name,
    parse_proposal,
    staged,
    unix,
    with_rejection,
)

COPIES = "targets"
_ATTEMPTS = 20
_NAME = re.compile(r"\d{1,8}(?:-[\d-]*[a-z.]*)?")
# Signs without which people's names and emoji fall apart; all other signs that cannot be seen are shown as escapes.
_JOINERS = "\u200c\u200d\ufe0f"


# What is there -------------------------------------------------------------------------------------------------------


def proposals(desk: Desk) -> "list[Staged]":
    """Every proposal, in the order of names. Raises RefusedError when the folder is a symbolic link."""
    folder = staging_folder(desk)
    for parts in ((folder.name, "x"), (folder.name, REJECTED, "x")):
        inside(desk.memory, parts)
    return list(staged(folder))


def unreadable(desk: Desk, found: "Sequence[Staged]") -> "list[str]":
    """Names of files in the folder that are no proposals any more, such as one that was edited into another shape."""
    folder, known = staging_folder(desk), {one.path for one in found}
    there = sorted(folder.glob("*.md")) if folder.is_dir() else []
    return [path.name for path in there if path not in known]


def pick(desk: Desk, name: str, *statuses: str) -> Staged:
    """The one proposal that a name stands for; it is looked for among those that are there, so no path is made of it.

    Raises UsageError when there is none, or more than one.
    """
    every = proposals(desk)
    found = [one for one in every if one.path.name.startswith(name)] if name else []
    exact = [one for one in found if one.path.name in (name, f"{name}.md", f"{name}.approved.md")]
    found = exact or found
    fitting = [one for one in found if one.status in statuses]
    if len(fitting) == 1:
        return fitting[0]
    if len(fitting) > 1:
        names = ", ".join(one.path.name for one in fitting[:10])
        raise UsageError(
            f"{tidy(name, 60)!r} stands for {len(fitting)} proposals: {names}", "give more of the name"
        )
    if found:
        raise UsageError(
            f"{found[0].path.name} was {found[0].status} already", "see: staging_review.py list --all"
        )
    broken = [one for one in unreadable(desk, every) if name and one.startswith(name)]
    # Errors stand in the log, and names of proposals are the only thing that may; hints do not.
    if broken:
        which = broken[0] if is_waiting_name(broken[0]) else "the file of that name"
        raise UsageError(
            f"{which} is no proposal in the form that write-staging gives it",
            f"put the headings, fields and fence of {visible(broken[0])} back, or reject it",
        )
    asked = repr(tidy(name, 60)) if _NAME.fullmatch(name) else "that"
    raise UsageError(f"no proposal is called {asked}", "see: staging_review.py list")


def list_proposals(options: argparse.Namespace, desk: Desk) -> Result:
    """What waits for a word, and with --all what has had it."""
    every = proposals(desk)
    shown = [one for one in every if options.all or one.status == WAITING]
    broken = unreadable(desk, every)
    for name in broken:
        desk.run.say(
            f"staging_review: {visible(name)} is no proposal in the form that write-staging gives it"
        )
    counts = {status: sum(one.status == status for one in every) for status in (WAITING, APPROVED, REJECTED)}
    page = "\n".join(line_of(one) for one in shown) or "No proposals wait."
    facts = {**counts, "unreadable": len(broken)}
    return Result("ok", "listed", facts, shown={"proposals": list(map(briefly, shown))}, page=page)


def line_of(one: Staged) -> str:
    """A proposal in two lines."""
    proposal = one.proposal
    about = f"{proposal.type} for {proposal.target}, {visible(proposal.confidence)} confidence"
    days = sorted({said.date for said in proposal.evidence})
    when = f", said on {', '.join(days)}" if days else ", without evidence"
    status = "" if one.status == WAITING else f" [{one.status}]"
    return f"{one.path.name}{status}: {about}{when}\n    {visible(proposal.summary)}"


def briefly(one: Staged) -> "dict[str, Any]":
    """A proposal for programs."""
    proposal = one.proposal
    return {
        "name": one.path.name,
        "status": one.status,
        "type": proposal.type,
        "target_file": proposal.target,
        "confidence": proposal.confidence,
        "generated": proposal.at,
        "summary": proposal.summary,
        "evidence": len(proposal.evidence),
    }


def show_proposal(options: argparse.Namespace, desk: Desk) -> Result:
    """One proposal with its evidence, and what it would change."""
    one = pick(desk, options.name, WAITING, APPROVED, REJECTED)
    proposal = one.proposal
    found = read_bytes(target_of(desk, proposal)) or b""
    change = difference(proposal.target, found, with_text(found, proposal.text))
    shown = {
        **briefly(one),
        "proposed_text": proposal.text,
        "supporting_observations": proposal.supporting,
        "evidence": [{"date": said.date, "quote": said.quote, "id": said.id} for said in proposal.evidence],
        "difference": change,
    }
    facts = {"name": one.path.name, "path": desk.shown(one.path)}
    return Result("ok", "shown", facts, shown={"proposal": shown}, page="\n".join(page_of(one, change)))


def page_of(one: Staged, change: str) -> Iterator[str]:
    """The proposal for reading. What others wrote stands behind a bar, so that no text can pass for a part of the
    page."""
    proposal = one.proposal
    yield line_of(one)
    yield f"\nProposed text for {proposal.target} ({visible(proposal.at)}):"
    yield from (f"  | {visible(line)}" for line in proposal.text.split("\n"))
    yield f"\nEvidence (supporting observations: {visible(proposal.supporting)}):"
    for said in proposal.evidence:
        yield f"  | {said.date}{f' {said.id}' if said.id else ''}: {visible(said.quote)}"
    yield "\nDifference:" if change else f"\n{proposal.target} has this text already."
    yield from (f"  | {line}" for line in shown_change(change).split("\n") if change)


def visible(text: str) -> str:
    """Text for a terminal: signs that cannot be seen, among them all that move the cursor or turn the direction of
    writing, as escapes."""
    return "".join(
        sign if sign.isprintable() or sign in _JOINERS else sign.encode("unicode_escape").decode("ascii")
        for sign in text
    )


# Deciding ------------------------------------------------------------------------------------------------------------


def approve(options: argparse.Namespace, desk: Desk) -> Result:
    """Rename the file; with --apply append the text first. What was approved already can still be applied."""
    statuses = (WAITING, APPROVED) if options.apply else (WAITING,)
    with desk.holding_memory():
        one = pick(desk, options.name, *statuses)
        new = approved_name(one)
        refuse_another(desk, new, one.proposal)
        facts: "dict[str, Any]" = {
            "name": one.path.name,
            "target_file": one.proposal.target,
            "applied": False,
        }
        change, result = "", "approved"
        if options.apply:
            change, copy, created = apply(desk, one)
            result = "applied" if change else "already_there"
            facts.update(applied=bool(change) and not desk.run.dry_run, created=created, copy=copy)
        if not desk.run.dry_run:
            rename_file(one.path, new)
        facts["path"] = desk.shown(new)
    told = {
        "applied": f"; its text was appended to {one.proposal.target}",
        "already_there": f"; its text is in {one.proposal.target} already",
    }.get(result, "")
    if facts.get("created"):
        told = f"; {one.proposal.target} was not there, and was created with its text"
    if facts.get("copy"):
        told += f", and the file as it was is in {facts['copy']}"
    page = f"{one.path.name} is now {new.name}{told}"
    if desk.run.dry_run:
        would = f"; {one.proposal.target} would be created" if facts.get("created") else ""
        page = f"{shown_change(change)}\n{one.path.name} would become {new.name}{would}; nothing was written"
        page = page.lstrip("\n")
    shown = {"difference": change} if options.apply else {}
    return Result("ok", "dry_run" if desk.run.dry_run else result, facts, shown=shown, page=page)


def shown_change(change: str) -> str:
    """A difference for a terminal."""
    return "\n".join(visible(line) for line in change.removesuffix("\n").split("\n"))


def approved_name(one: Staged) -> Path:
    """NAME.approved.md."""
    return one.path if one.status == APPROVED else one.path.with_name(f"{one.path.stem}.approved.md")


def refuse_another(desk: Desk, path: Path, proposal: Proposal) -> None:
    """Raise RefusedError when another proposal has the name that this one is to have."""
    before = read_bytes(path)
    if before is not None and parse_proposal(decode(before)) != proposal:
        raise RefusedError(f"{desk.shown(path)} is another proposal", "rename the one that waits")


def apply(desk: Desk, one: Staged) -> "tuple[str, str, bool]":
    """Append the text to its target; returns the difference ("" when it is there already), the path of the copy, and
    whether the target was made.

    The target is the agent's and the person's, and may change or appear at any moment: then it is read again.
    """
    target = target_of(desk, one.proposal)
    if not one.proposal.text.strip():
        raise RefusedError(
            f"{one.path.name} proposes no text", "write it between the fences, or reject the proposal"
        )
    was_there = True
    for _attempt in range(_ATTEMPTS):
        found = read_bytes(target)
        if b"\0" in (found or b""):
            raise RefusedError(f"{target} is no UTF-8 text", "save it as UTF-8, or append the text yourself")
        new = with_text(found or b"", one.proposal.text)
        change = difference(one.proposal.target, found or b"", new)
        if desk.run.dry_run or not change:
            return change, "", found is None and bool(change)
        if found is None:
            append_file(target, b"")  # made empty, or left as it is where it appeared meanwhile
            was_there = False
            continue
        if desk.run.on_terminal:
            desk.run.say(shown_change(change))
        created = not was_there and not found
        copy = "" if created else keep_copy(desk, target, found)
        if replace_file(target, new, instead_of=found):
            return change, copy, created
    raise BusyError(f"{target} keeps changing", "try again when the other program has finished")


def target_of(desk: Desk, proposal: Proposal) -> Path:
    """The file in the workspace that a proposal is for. Raises RefusedError for one that leads out of the workspace."""
    path = desk.config.workspace / proposal.target
    home = os.path.realpath(desk.config.workspace)
    real = os.path.realpath(path)
    if os.path.dirname(real) != home and not real.startswith(home + os.sep):
        raise RefusedError(f"{path} leads out of the workspace", f"append the text to {real} yourself")
    return path


def with_text(found: bytes, text: str) -> bytes:
    """The file with the text behind it, in its own line endings; as it is when it holds these lines already."""
    old = decode(found)
    ending = "\r\n" if 2 * old.count("\r\n") > old.count("\n") else "\n"
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    there = [line.rstrip() for line in old.split("\n")]
    if any(there[start : start + len(lines)] == lines for start in range(len(there))):
        return found
    last = next((line for line in reversed(there) if line), "")
    gap = "" if not last or (_is_item(last) and _is_item(lines[0])) else ending
    end = "" if not old or old.endswith("\n") else ending
    return encode(old + end + gap + ending.join(lines) + ending)


def _is_item(line: str) -> bool:
    return line.lstrip().startswith(("- ", "* "))


def difference(name: str, old: bytes, new: bytes) -> str:
    """What changes, exactly as `diff -u` tells it, line endings included; "" when nothing does."""
    before, after = (_lines(decode(data)) for data in (old, new))
    told = difflib.unified_diff(before, after, f"{name} before", f"{name} after")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in told
    )


def _lines(text: str) -> "list[str]":
    """The lines with their ends; only a line feed ends one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def keep_copy(desk: Desk, target: Path, data: bytes) -> str:
    """Keep the bytes of a target, the last 10 such copies of each; returns the path as it is shown. Not as .md:
    OpenClaw indexes those."""
    inside(desk.memory, (".dream-backups", COPIES, "x"))
    folder, moment = desk.memory / ".dream-backups" / COPIES, desk.run.now.astimezone(desk.config.zone)
    return desk.shown(keep_bytes(folder, (f"{target.name}.", ".kept"), data, moment))


def reject(options: argparse.Namespace, desk: Desk) -> Result:
    """Move the proposal to rejected/, with the reason and the day in it."""
    reason = tidy(options.reason, 300)
    if not reason:
        raise UsageError(
            "--reason is empty", "say in a few words why, such as: --reason 'only true last year'"
        )
    with desk.holding_memory():
        path = to_reject(desk, options.name)
        new = path.parent / REJECTED / path.name
        content = decode(read_bytes(path) or b"")
        text = with_rejection(content, desk.today, reason)
        refuse_other_text(desk, new, content)
        if not desk.run.dry_run:
            private_folder(new.parent)
            replace_file(new, encode(text))
            remove_file(path)
    facts = {"name": path.name, "path": desk.shown(new)}
    told = "would be moved" if desk.run.dry_run else "was moved"
    page = f"{path.name} {told} to {REJECTED}/: it is not proposed again"
    return Result("ok", "dry_run" if desk.run.dry_run else "rejected", facts, page=page)


def to_reject(desk: Desk, name: str) -> Path:
    """The waiting file that a name stands for, whatever stands in it: one that lost its form can still be rejected."""
    every = proposals(desk)
    broken = [
        one for one in unreadable(desk, every) if name and one.startswith(name) and is_waiting_name(one)
    ]
    readable = [one for one in every if name and one.path.name.startswith(name)]
    exact = [one for one in broken if one in (name, f"{name}.md")]
    found = exact if exact else broken if len(broken) == 1 and not readable else []
    path = staging_folder(desk) / found[0] if found else None
    if path is not None and path.is_file() and not path.is_symlink():
        return path
    return pick(desk, name, WAITING).path


def refuse_other_text(desk: Desk, path: Path, content: str) -> None:
    """Raise RefusedError when something else was rejected under this name."""
    proposal, before = parse_proposal(content), read_bytes(path)
    if proposal is not None:
        refuse_another(desk, path, proposal)
    elif before is not None and not decode(before).startswith(unix(content).rstrip()):
        raise RefusedError(f"{desk.shown(path)} is another proposal", "rename the one that waits")


# The command line ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Command:
    """A subcommand: what --help says of it, its arguments, and what carries it out."""

    about: str
    arguments: "Callable[[_cli.Parser], None]"
    work: "Callable[[argparse.Namespace, Desk], Result]"


def _for_list(parser: _cli.Parser) -> None:
    parser.add_argument("--all", action="store_true", help="also those that were approved or rejected")


def _for_show(parser: _cli.Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the file, or its beginning")


def _for_approve(parser: _cli.Parser) -> None:
    _for_show(parser)
    parser.add_argument("--apply", action="store_true", help="append the text to the target file")


def _for_reject(parser: _cli.Parser) -> None:
    _for_show(parser)
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why; it is kept with the proposal")


COMMANDS = {
    "list": Command("the proposals that wait", _for_list, list_proposals),
    "show": Command(
        "one proposal: text, evidence with dates, and what it would change", _for_show, show_proposal
    ),
    "approve": Command(
        "approve a proposal; with --apply append its text to the target file", _for_approve, approve
    ),
    "reject": Command("move a proposal to rejected/, so that it does not come back", _for_reject, reject),
}


def build_parser() -> _cli.Parser:
    """The subcommands with their arguments."""
    parser = _cli.make_parser("staging_review", __doc__ or "")
    commands = Commands(parser)
    for name, command in COMMANDS.items():
        command.arguments(commands.add(name, command.about))
    return parser


def work(options: argparse.Namespace, run: Run) -> Result:
    """Carry out one subcommand; whatever was to be forgotten is gone before it is shown or approved."""
    finish(run)
    return COMMANDS[options.command].work(options, make_desk(run))


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the layer; returns the exit code."""
    return _cli.run("staging_review", build_parser(), work, argv)


if __name__ == "__main__":
    sys.exit(main())
