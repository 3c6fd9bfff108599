"""Search in everything that memory ever held, and tell where an item came from and what became of it.

  recall.py search "when does the lease end"    the log, the archives, chunks and reflections; hooks count
  recall.py search "lease" --kind archived --since 2026-01-01 --limit 5
  recall.py show OBS-20261130-001               the item, where it is, and the messages that it came from
  recall.py explain OBS-20261130-001            how it came, by which model, and why it is here or gone
  recall.py synonyms                            check the table of other words, and your own in memory/synonyms.txt
  recall.py forget "Anna Meier"                 what would go: everything that has these words ("Meier*": or begins so)
  recall.py forget OBS-20261130-001 --apply     forget it, in every file, for good; it does not come back from old
                                                transcripts either
  recall.py restore OBS-20261130-001            bring an archived observation back into the log

On a terminal the answer is text; elsewhere, and with --json, it is JSON. Only forget --apply and restore change
anything; they are your word, so READ_ONLY_MODE, which is the night's, does not stop them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

import _cli
from _cli import Commands, Result, Run
from _config import Config
from _counting import many
from _errors import BusyError, ConfigError, SourceError, UsageError
from _observations import is_date, tidy
from _recall import KINDS, LIMIT, Corpus, Hit, Wanted, find_item, read_corpus, search

if TYPE_CHECKING:
    from _transcripts import Message

MOST_HITS = 100
MOST_MESSAGE_CHARS = 4_000
NO_LINE = "its line is in no file (deleted by hand?)"
ACCEPT = "if a person meant to: python3 scripts/dream_cycle.py account --accept"


# search --------------------------------------------------------------------------------------------------------------


def search_memory(options: argparse.Namespace, run: Run) -> Result:
    """The best hits for the words."""
    question = " ".join(options.words).strip()
    if not question:
        raise UsageError("there is nothing to search for", 'such as: recall.py search "lease"')
    corpus = read_corpus(run.config.memory_dir)
    today = run.now.astimezone(run.config.zone).date()
    wanted = Wanted(tuple(options.kind or ()), options.since or "", options.until or "")
    hits = search(corpus, question, today, options.limit, wanted)
    tell_problems(corpus, run)
    facts = {"hits": len(hits), "files": len(corpus.sources), "unreadable": len(corpus.problems)}
    shown = {"results": [{**as_json(hit), **({} if hit.why else {"beside": True})} for hit in hits]}
    page = "\n".join(map(line_of, range(1, len(hits) + 1), hits)) or nothing_in(corpus)
    return Result("ok", "found" if hits else "nothing_found", facts, shown=shown, page=page)


def nothing_in(corpus: Corpus) -> str:
    """What is told when nothing was found, which is not the same for all that could be looked at and for less."""
    files = many(len(corpus.sources), "file")
    if corpus.problems:
        return f"Nothing was found in the {files} that could be read; {len(corpus.problems)} could not be looked at."
    if not corpus.sources:
        return f"Nothing was found: {corpus.folder} holds no memory yet."
    return f"Nothing was found in {files}. Fewer words, or other words for it, may find it."


def as_json(hit: Hit) -> "dict[str, Any]":
    """The hit without what is empty."""
    fields = {**hit._asdict(), "score": round(hit.score, 3)}
    return {name: value for name, value in fields.items() if value not in ("", (), 0.0)}


def line_of(number: int, hit: Hit) -> str:
    """The hit as two lines."""
    day = f"[{hit.date}] " if hit.date else ""
    about = [hit.id, state_of(hit), hit.file]
    # In a talk the answer often stands next to the words of the question.
    about.append(f"by: {', '.join(hit.why) or 'what stands next to it'}")
    return f"{number:2}. {day}{hit.text}\n    {' · '.join(map(tidy, about))}"


def state_of(hit: Hit) -> str:
    """ "archived (older than 30 days)"."""
    into = f" into {hit.into}" if hit.into else ""
    return f"{hit.kind}{into} ({hit.reason})" if hit.reason else f"{hit.kind}{into}"


def tell_problems(corpus: Corpus, run: Run) -> None:
    """Say what could not be looked at."""
    for problem in corpus.problems:
        run.say(f"recall: {problem}")


# show ----------------------------------------------------------------------------------------------------------------


def show_item(options: argparse.Namespace, run: Run) -> Result:
    """An item with where it is and what was said."""
    corpus = read_corpus(run.config.memory_dir)
    tell_problems(corpus, run)
    found = find_item(corpus, options.id)
    rows = rows_about(run.config, options.id)
    if not found:
        raise gone(options.id, rows, corpus)
    uids = [uid for row in rows if row.get("e") == "observed" for uid in row.get("from", ())]
    said, missing, unseen = messages_of(run.config, list(map(str, uids)))
    for problem in unseen:
        run.say(f"recall: could not look for the messages: {problem}")
    facts = {
        "id": found[0].id,
        "places": [hit.file for hit in found],
        "said": len(said),
        "not_found": missing,
        **({"not_looked_at": len(unseen)} if unseen else {}),
    }
    shown = {"items": [as_json(hit) for hit in found], "messages": said}
    page = "\n".join(page_of(found, said, missing, bool(unseen)))
    return Result("ok", "shown", facts, shown=shown, page=page)


def page_of(
    found: "Sequence[Hit]", said: "Sequence[Mapping[str, str]]", missing: int, unseen: bool
) -> Iterator[str]:
    """The item for reading."""
    for hit in found:
        yield hit.text
        about = [hit.id, hit.type, f"importance {hit.importance:g}", f"said {hit.date}" if hit.date else ""]
        yield f"  {' · '.join(filter(None, map(tidy, about)))}"
        yield f"  {tidy(state_of(hit))} · {tidy(hit.file)}"
        if hit.hooks:
            yield f"  hooks: {' | '.join(map(tidy, hit.hooks))}"
    for message in said:
        yield f"\n{message['at']} {tidy(message['who'])}:"
        yield from (f"  {tidy(line)}" for line in message["text"].splitlines())
    if missing:
        are = "is" if missing == 1 else "are"
        where = "not in what could be read" if unseen else "in no transcript any more, or forgotten"
        yield f"\n{many(missing, 'message')} that it came from {are} {where}."


def messages_of(config: Config, uids: "Sequence[str]") -> "tuple[list[dict[str, str]], int, list[str]]":
    """The messages with these uids, in the order in which they were said, how many were not found, and a sentence for
    each transcript that could not be looked at."""
    from _ledger import covered_uids
    from _state import Places
    from _tombstones import load_tombstones

    wanted = set(uids)
    places = Places(config.observations_path, config.private_dir)
    sessions = covered_uids(places.ledger) if wanted else {}
    said: "list[Message]" = []
    unseen: "list[str]" = []
    for name, covered in sessions.items():
        if wanted & covered:
            try:
                said += messages_in(config, name, wanted & covered)
            except (SourceError, BusyError) as problem:
                unseen.append(str(problem))
            except ConfigError:
                continue  # its transcript has gone, or was deleted
    found = {one.uid: as_said(one, config) for one in load_tombstones(places).shown(said)}
    return sorted(found.values(), key=lambda message: message["at"]), len(wanted) - len(found), unseen


def messages_in(config: Config, name: str, wanted: "set[str]") -> "Iterator[Message]":
    """Those of the wanted messages that a session holds. Raises ConfigError when its transcript has gone, SourceError
    or BusyError when that cannot be told."""
    from _transcripts import read_new, resolve

    for session in resolve(config, name):
        cursor, more = None, True
        while more:
            reading = read_new(session, cursor, 0)
            yield from (message for message in reading.messages if message.uid in wanted)
            cursor, more = reading.end, reading.more


def as_said(message: Message, config: Config) -> "dict[str, str]":
    """A message for showing: when, who and what."""
    at = message.at.astimezone(config.zone).strftime("%Y-%m-%d %H:%M")
    return {"at": at, "who": message.sender or message.role, "text": message.text[:MOST_MESSAGE_CHARS]}


def rows_about(config: Config, name: str) -> "list[dict[str, Any]]":
    """What the ledger says of an id, and of what it went into or was made of."""
    from _ledger import read_ledger
    from _state import Places

    ledger = Places(config.observations_path, config.private_dir).ledger
    wanted = name.upper()
    return [
        row
        for row in read_ledger(ledger)
        if str(row.get("id", "")).upper() == wanted or str(row.get("into", "")).upper() == wanted
    ]


def gone(name: str, rows: "Sequence[Mapping[str, Any]]", corpus: Corpus) -> UsageError:
    """The error for an id without an item."""
    own = [row for row in rows if str(row.get("id", "")).upper() == name.upper()]
    if not own:
        return unknown(name)
    state = last_state(own, corpus)
    if state == "gone":
        return UsageError(f"{tidy(name, 60)} is gone: {NO_LINE}", ACCEPT)
    return UsageError(
        f"{tidy(name, 60)} is {state}: its text is in no file", f"see: recall.py explain {tidy(name, 60)}"
    )


def unknown(name: str) -> UsageError:
    """The error for what nothing is known of. Errors stand in the log, and what somebody typed instead of an id may be
    what was to be forgotten: so it is not in it."""
    from _forget import is_id

    what = repr(name.upper()) if is_id(name.upper()) else "what was given instead of an id"
    return UsageError(
        f"nothing is known of {what}",
        "ids look like OBS-20261130-001 or CHUNK-20261130-001; recall.py search finds them",
    )


def last_state(rows: "Sequence[Mapping[str, Any]]", corpus: Corpus) -> str:
    """What the ledger says last of the one id that these rows are about, and that is nowhere in the corpus; "gone" when
    they do not tell, or say that it is live though all of memory could be read."""
    from _account import LIVE, standings

    state = next((found.state for found in standings(rows).values()), "gone")
    return "gone" if state == LIVE and not corpus.problems else state


# explain -------------------------------------------------------------------------------------------------------------


def explain_item(options: argparse.Namespace, run: Run) -> Result:
    """What happened to an item, in the order in which it happened."""
    corpus = read_corpus(run.config.memory_dir)
    tell_problems(corpus, run)
    found = find_item(corpus, options.id)
    rows = rows_about(run.config, options.id)
    own = [row for row in rows if str(row.get("id", "")).upper() == options.id.upper()]
    if not own and not found:
        raise gone(options.id, rows, corpus)
    state = found[0].kind if found else last_state(own, corpus)
    if any(hit.kind == "live" for hit in found):
        state = "live"
    history = [{key: value for key, value in row.items() if key not in ("line", "commit")} for row in rows]
    facts = {
        "id": found[0].id if found else options.id.upper(),
        "state": state,
        "places": [hit.file for hit in found],
        **({"hint": ACCEPT} if state == "gone" else {}),
    }
    about = found[0].text if found else NO_LINE if state == "gone" else ""
    page = [f"{facts['id']} is {state}" + (f": {about}" if about else "")]
    page += [f"  {ACCEPT}"] if state == "gone" else []
    page += [f"  in {tidy(hit.file)}: {tidy(state_of(hit))}" for hit in found]
    page += [f"  {sentence_of(row, options.id)}" for row in rows]
    back = live_again(run.config, rows)
    if back:
        page.append(f"  In the log again since: {', '.join(back)}")
    if not rows:
        page.append(
            "  The ledger knows nothing of it: it came from another edition, or was written by a person."
        )
    shown = {"history": history, **({"in_log_again": back} if back else {})}
    return Result("ok", state, facts, shown=shown, page="\n".join(page))


def live_again(config: Config, rows: "Sequence[Mapping[str, Any]]") -> "list[str]":
    """The ids among those that left for what these rows are about, and that are in the log by now."""
    from _account import LIVE, standings
    from _ledger import read_ledger
    from _state import Places

    left = {str(row["id"]) for row in rows if row.get("into") and row.get("id")}
    if not left:
        return []
    ledger = Places(config.observations_path, config.private_dir).ledger
    return sorted(
        name for name, found in standings(read_ledger(ledger)).items() if name in left and found.state == LIVE
    )


def sentence_of(row: "Mapping[str, Any]", name: str) -> str:
    """A row of the ledger for reading."""
    said = [str(row.get("at", ""))]
    other = str(row.get("id", "")).upper() != name.upper()
    said.append(f"{row.get('id')} was {row.get('e')} into it" if other else str(row.get("e", "")))
    parts = [
        ("into", "" if other else row.get("into")),
        ("because", row.get("why")),
        ("by", row.get("by")),
        ("started by", row.get("trigger")),
        ("prompt", row.get("prompt")),
        ("in", row.get("in")),
        ("made of", ", ".join(map(str, row.get("from_ids", ())))),
        ("from", many(len(row["from"]), "message") if isinstance(row.get("from"), list) else row.get("from")),
    ]
    said += [f"{label} {value}" for label, value in parts if value]
    return tidy(", ".join(filter(None, said)))


# synonyms ------------------------------------------------------------------------------------------------------------


def check_synonyms(options: argparse.Namespace, run: Run) -> Result:
    """Read both tables of other words. Raises ConfigError naming the first wrong lines."""
    from _files import decode, read_bytes
    from _hooks import OWN_SYNONYMS, read_synonyms, shipped_synonyms

    shipped = shipped_synonyms()
    path = run.config.memory_dir / OWN_SYNONYMS
    groups, wrong = read_synonyms(decode(read_bytes(path) or b""))
    if wrong:
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise ConfigError(
            f"{path}, {'; '.join(wrong[:5])}{more}", 'a line looks like "flat: apartment, home"'
        )
    facts = {"shipped": len(shipped), "own": len(groups)}
    own = f"{many(len(groups), 'group')} {'is' if len(groups) == 1 else 'are'} in {path}"
    page = f"{len(shipped)} groups come with the skill, {own}."
    return Result("ok", "checked", facts, page=page)


# forget, restore -----------------------------------------------------------------------------------------------------


def forget_item(options: argparse.Namespace, run: Run) -> Result:
    """What would be forgotten; with --apply it is."""
    from _dream_files import make_desk
    from _forget import forget

    return forget(make_desk(run), options.wanted, options.apply)


def restore_item(options: argparse.Namespace, run: Run) -> Result:
    """Bring back what was archived; `dream_cycle.py restore` does the same."""
    from _dream_files import make_desk
    from _forget import finish
    from _night import restore

    finish(run)
    asked = run._replace(config=run.config._replace(read_only=False))
    try:
        told = restore(make_desk(asked), options.id.upper())
    except UsageError as problem:
        raise unknown(options.id) from problem
    back = ", ".join(told.facts["ids"])
    page = f"{back} would be back in the log." if run.dry_run else f"{back} is back in the log."
    return told._replace(page=page if back else f"{tidy(options.id, 60)} is in the log already.")


class Command(NamedTuple):
    """A subcommand: what --help says of it, its arguments, and what carries it out."""

    about: str
    arguments: "Callable[[_cli.Parser], None]"
    work: "Callable[[argparse.Namespace, Run], Result]"


def _for_search(parser: _cli.Parser) -> None:
    parser.add_argument("words", metavar="WORDS", nargs="+", help="a question, or words of it")
    parser.add_argument("--limit", type=_limit, default=LIMIT, metavar="N", help=f"at most so many ({LIMIT})")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only these; can be repeated")
    parser.add_argument("--since", type=_day, metavar="DATE", help="said on this day (YYYY-MM-DD) or later")
    parser.add_argument("--until", type=_day, metavar="DATE", help="said on this day or earlier")


def _for_one(parser: _cli.Parser) -> None:
    parser.add_argument("id", metavar="ID", help="such as OBS-20261130-001")


def _for_forget(parser: _cli.Parser) -> None:
    parser.add_argument("wanted", metavar="WORDS_OR_ID", nargs="+", help="ids, or words that all stand in it")
    parser.add_argument("--apply", action="store_true", help="do it; without this it is only shown")


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_HITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {MOST_HITS}")
    return int(text)


def _day(text: str) -> str:
    if not is_date(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no day such as 2026-11-30")
    return text


COMMANDS = {
    "search": Command("find what memory ever held", _for_search, search_memory),
    "show": Command("an item, where it is, and the messages that it came from", _for_one, show_item),
    "explain": Command("how an item came, and why it is here or gone", _for_one, explain_item),
    "forget": Command(
        "take something out of every file, for good; first only shown", _for_forget, forget_item
    ),
    "restore": Command("bring an archived observation back into the log", _for_one, restore_item),
    "synonyms": Command("check the tables of other words", lambda parser: None, check_synonyms),
}


def build_parser() -> _cli.Parser:
    """The subcommands with their arguments."""
    parser = _cli.make_parser("recall", __doc__ or "")
    commands = Commands(parser)
    for name, command in COMMANDS.items():
        command.arguments(commands.add(name, command.about))
    return parser


def work(options: argparse.Namespace, run: Run) -> Result:
    """Carry out one subcommand."""
    return COMMANDS[options.command].work(options, run)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the layer; returns the exit code."""
    return _cli.run("recall", build_parser(), work, argv)


if __name__ == "__main__":
    sys.exit(main())
