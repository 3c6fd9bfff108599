"""Which observations and chunks go when something is to be forgotten: those that were named, those that have the words,
and what else says the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

from _account import CHUNKED, FORGOTTEN, MERGED, Standing, standings
from _archive import names_of, read_records, says_more
from _compat import Stamp, sha256_hex, stamp
from _files import decode, read_bytes
from _forget.listing import files_below
from _forget.order import Order, mentions
from _forget.scrub import LEFT_BEHIND, going, proposal, said_in
from _hooks import read_hook_line
from _ledger import read_ledger
from _likeness import features, fingerprint
from _observations import Entry, children_of, parse_log, tidy
from _staging import staged
from _state import Places

LOGS = ("observations.md", "archived-observations.md", "archive/archived-observations.md")
ARCHIVES = ("archive/observations", "archive/chunks", "archive/reflections")
STAGING = "dream-staging"
ASKED, PART, SAME = "asked for", "made of what is forgotten", "says the same"
# Two lines say the same when the later one has so many of the words of the earlier one.
_SHARED = 0.5


@dataclass(frozen=True)
class Item:
    """One observation, chunk, hook line or remark in a file below memory/. `text` is what it says, `whole` all that is
    looked at, `sources` the observations that a chunk was made of, `beside` the lines below it, its hooks and topic."""

    id: str
    where: str
    text: str
    whole: str
    sources: "tuple[str, ...]" = ()
    beside: "tuple[str, ...]" = ()
    is_hit: bool = False
    is_observation: bool = True


@dataclass(frozen=True)
class Choice:
    """What goes. `why` is by id one of ASKED, PART, SAME; `items` are where it stands; `rows` what the ledger is told;
    `origins` by id (the uids of messages of which nothing else is left, those of which something is); `kept` are other
    parts of what was dissolved, which stay in the archive, `spared` what was dissolved said in their words alone.
    `unknown` are wanted ids that nothing is known of.
    """

    order: Order
    why: "Mapping[str, str]"
    items: "tuple[Item, ...]"
    rows: "tuple[dict[str, Any], ...]"
    origins: "Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]"
    kept: "tuple[str, ...]"
    forgotten_before: "tuple[str, ...]" = ()
    unknown: "tuple[str, ...]" = ()
    spared: "frozenset[str]" = frozenset()


@dataclass
class _History:
    """What the ledger says: what became of each, what was made of what, and which messages each came from. `answered`
    are messages of which more than a provisional line is there, `replaced` provisional lines that an answer replaced.
    """

    standing: "dict[str, Standing]" = field(default_factory=dict)
    made_of: "dict[str, set[str]]" = field(default_factory=dict)
    went_into: "dict[str, set[str]]" = field(default_factory=dict)
    uids: "dict[str, set[str]]" = field(default_factory=dict)
    ids_of: "dict[str, set[str]]" = field(default_factory=dict)
    answered: "set[str]" = field(default_factory=set)
    replaced: "set[str]" = field(default_factory=set)
    prints: "dict[str, str]" = field(default_factory=dict)


def read_items(memory: Path, order: Order, near: "frozenset[str]") -> "Iterator[Item]":
    """All of the log, and of the archives the files that have something of the order in them, or one of the ids in
    `near`; `is_hit` where the order's words or texts are in it."""
    for name in LOGS:
        entries = parse_log(decode(read_bytes(memory / name) or b""))
        gone = going(entries, order)
        for position, entry in enumerate(entries):
            if entry.observation or position in gone:
                name_of = entry.observation.id if entry.observation else ""
                said = entry.observation.text if entry.observation else tidy(entry.raw)
                is_one = entry.observation is not None
                yield Item(name_of, name, said, entry.raw, (), _beside(entry), position in gone, is_one)
    for folder in ARCHIVES:
        for path in _pages_in(memory / folder):
            text = decode(read_bytes(path) or b"")
            if order.may_be_in(text) or mentions(text, near):
                yield from _archived(f"{folder}/{path.name}", text, order)


def _pages_in(folder: Path) -> "list[Path]":
    return [path for path in files_below(folder, deep=False) if path.suffix == ".md"]


def _archived(where: str, text: str, order: Order) -> "Iterator[Item]":
    found = list(read_records(text))
    for record in found:
        entry = record.entry
        said = entry.observation.text if entry and entry.observation else tidy(record.text)
        hit = record.id in order.ids or order.has(said_in(record))
        beside = (*(_beside(entry) if entry else ()), *record.list_of("Hooks"), *record.list_of("Topic"))
        yield Item(record.id, where, said, said_in(record), record.source_ids, beside, hit)
    entries = parse_log(text) if not found else []
    for position in sorted(going(entries, order)):
        entry = entries[position]
        yield Item("", where, tidy(entry.raw), entry.raw, (), (), True, entry.observation is not None)


def _beside(entry: Entry) -> "tuple[str, ...]":
    """What stands with an observation: the lines below it; of a hook line the topic, as the log of a night has it."""
    if entry.observation:
        return tuple(children_of(entry))
    hook = read_hook_line(entry.raw) if entry.kind == "hook" else None
    return (hook.topic, f"{hook.topic} (chunked)", hook.outcome) if hook else ()


def seen(places: Places) -> "dict[Path, Optional[Stamp]]":
    """The state of every file that `choose` reads: while none changes, it would choose the same again. Raises
    StorageError when one of their folders cannot be listed."""
    memory = places.observations.parent
    files = [places.ledger, *(memory / name for name in LOGS)]
    for folder in ARCHIVES:
        files += _pages_in(memory / folder)
    files += [path for path in files_below(memory / STAGING) if path.suffix == ".md"]
    return {path: stamp(path) for path in files}


def choose(
    places: Places, ids: "Iterable[str]", words: "tuple[str, ...]", at: str, lines: "tuple[str, ...]" = ()
) -> Choice:
    """Everything that goes, and why. `lines` are the names (`line-...`) of wanted lines that have no id."""
    memory, wanted = places.observations.parent, frozenset(ids)
    history = _history(read_ledger(places.ledger))
    why = dict.fromkeys(wanted, ASKED)
    called = _texts_called(memory, lines)
    texts = frozenset(called.values())
    order = Order(wanted, words, tuple(sorted(texts)))
    while True:
        before = len(why), order
        items = list(read_items(memory, order, _neighbours(why, history)))
        _note_chunks(items, history)
        _add_hits(why, items, words, history)
        _spread(why, history, _texts(items), wanted)
        spared = _spared(items, why, history)
        order = _order(why, words, items, spared, history)
        order = replace(order, texts=tuple(sorted({*order.texts, *texts})), lines=tuple(sorted(called)))
        if before == (len(why), order):
            break
    order = replace(order, loose=tuple(sorted({*order.loose, *_proposed(memory, order)})))
    kept = _left_behind(why, history)
    gone = tuple(item for item in items if item.is_hit or item.id in why)
    there = {item.id for item in gone}
    standing = history.standing
    return Choice(
        order,
        why,
        gone,
        _rows(why, kept, history, at),
        _origins(why, history),
        tuple(sorted(kept)),
        tuple(name for name in why if name in standing and standing[name].state == FORGOTTEN),
        tuple(
            sorted(
                [name for name in wanted if name not in there and name not in standing]
                + [name for name in lines if name not in called]
            )
        ),
        spared,
    )


def _texts_called(memory: Path, lines: "Sequence[str]") -> "dict[str, str]":
    """What the lines without an id say that go by these names, in the log or in the list of another edition."""
    if not lines:
        return {}
    pages = [memory / name for name in LOGS] + [page for one in ARCHIVES for page in _pages_in(memory / one)]
    found: "dict[str, str]" = {}
    for page in pages:
        text = decode(read_bytes(page) or b"")
        entries = [] if page.name not in LOGS and list(read_records(text)) else list(parse_log(text))
        entries = [entry for entry in entries if says_more(entry)]
        for name, entry in zip(names_of(entries), entries):
            if name in lines:
                found[name] = entry.observation.text if entry.observation else tidy(entry.raw)
    return found


def _add_hits(
    why: "dict[str, str]", items: "Sequence[Item]", words: "tuple[str, ...]", history: _History
) -> None:
    """Add what has the words or says one of the texts. Of what was made of several, the parts do not go with it."""
    by_word = Order(frozenset(), words)
    hits: "dict[str, bool]" = {}
    for item in items:
        if item.is_hit and item.id:
            hits[item.id] = hits.get(item.id, False) or by_word.has(item.whole)
    for name, is_asked in hits.items():
        if is_asked:
            reason = ASKED
        elif name.startswith("CHUNK-") or not history.made_of.get(name, set()).isdisjoint(why.keys() | hits):
            reason = PART
        else:
            reason = SAME
        why.setdefault(name, reason)


def _note_chunks(items: "Iterable[Item]", history: _History) -> None:
    """Chunks of which the ledger does not say what they were made of."""
    for item in items:
        if item.id.startswith("CHUNK-"):
            history.made_of.setdefault(item.id, set()).update(item.sources)
            for name in item.sources:
                history.went_into.setdefault(name, set()).add(item.id)


def _neighbours(why: "Iterable[str]", history: _History) -> "frozenset[str]":
    """What they went into and were made of: it is looked at, whether it says the same or not."""
    parts: "dict[str, set[str]]" = {}
    for part, wholes in history.went_into.items():
        for whole in wholes:
            parts.setdefault(whole, set()).add(part)
    found: "set[str]" = set()
    for name in why:
        found |= (
            history.went_into.get(name, set()) | history.made_of.get(name, set()) | parts.get(name, set())
        )
    return frozenset(found)


def _history(rows: "Iterable[dict[str, Any]]") -> _History:
    found, every = _History(), []
    for row in rows:
        every.append(row)
        name, kind = str(row.get("id", "")), row.get("e")
        if kind == "observed":
            if row.get("from_ids"):
                found.made_of.setdefault(name, set()).update(map(str, row["from_ids"]))
                for part in map(str, row["from_ids"]):
                    found.went_into.setdefault(part, set()).add(name)
            if "line" not in row:
                found.answered.update(map(str, row.get("from", ())))
            for uid in map(str, row.get("from", ())):
                found.uids.setdefault(name, set()).add(uid)
                found.ids_of.setdefault(uid, set()).add(name)
        if kind == "removed":
            found.replaced.add(name)
        if kind in ("merged", "chunked") and row.get("into"):
            found.went_into.setdefault(name, set()).add(str(row["into"]))
        if row.get("fp"):
            found.prints[name] = str(row["fp"])
    found.standing = standings(every)
    return found


def _texts(items: "Sequence[Item]") -> "dict[str, str]":
    """What each says, by id."""
    found: "dict[str, str]" = {}
    for item in items:
        if item.id and item.text:
            found.setdefault(item.id, item.text)
    return found


def _spread(
    why: "dict[str, str]", history: _History, texts: "Mapping[str, str]", wanted: "frozenset[str]"
) -> None:
    """Add what goes with those that go: what was made of them, and of what was asked for by id all that says the same.

    What was made of several goes as a whole; the other parts of it stay in the archive.
    """
    parts: "dict[str, set[str]]" = {}
    for part, wholes in history.went_into.items():
        for whole in wholes:
            parts.setdefault(whole, set()).add(part)
    todo = list(why)
    while todo:
        name = todo.pop()
        found: "dict[str, str]" = {}
        for whole in history.went_into.get(name, ()):
            if whole in history.made_of:
                found[whole] = PART
            elif why[name] != PART and _alike(texts, name, whole):
                found[whole] = SAME
        if name in wanted or why[name] == SAME:
            for part in {*history.made_of.get(name, ()), *parts.get(name, ())}:
                if name in history.made_of or _alike(texts, part, name):
                    found[part] = SAME
        for other, reason in found.items():
            if other not in why:
                why[other] = reason
                todo.append(other)


def _alike(texts: "Mapping[str, str]", earlier: str, later: str) -> bool:
    """Whether a line has most of the words of another that went into it."""
    words = features(texts.get(earlier, "")).words
    return bool(words) and len(words & features(texts.get(later, "")).words) >= _SHARED * len(words)


def _spared(items: "Sequence[Item]", why: "Mapping[str, str]", history: _History) -> "frozenset[str]":
    """What things made of several say, where a part that stays says it too: that part must not go with them."""
    found = set()
    for whole in items:
        if whole.text and why.get(whole.id) == PART:
            parts = history.made_of.get(whole.id, set()) - why.keys()
            said = Order(frozenset(), texts=(whole.text,))
            found |= {whole.text for one in items if one.id in parts and said.has(one.whole)}
    return frozenset(found)


def _order(
    why: "Mapping[str, str]",
    words: "tuple[str, ...]",
    items: "Sequence[Item]",
    spared: "frozenset[str]",
    history: _History,
) -> Order:
    """What is to go from the files. What was made of several is no reason for anything else to go: it may be another
    observation's sentence, word for word."""
    by_word = Order(frozenset(), words)
    own = {item.text for item in items if item.text and why.get(item.id, PART) != PART}
    gone = [item for item in items if item.id in why or (item.is_hit and not item.is_observation)]
    loose = {text for item in gone for text in ((item.text,) if item.id else ()) + item.beside}
    said = {text for text in own if not by_word.has(text)}
    loose = {tidy(text) for text in loose - own - spared if not by_word.has(text)} - {""}
    prints = {
        history.prints[name] for name, reason in why.items() if reason != PART and name in history.prints
    }
    nameless = {
        item.text for item in items if item.is_hit and not item.id
    }  # such as lines of an older archive
    prints |= {sha256_hex(fingerprint(text).encode("utf-8", "replace"))[:16] for text in own | nameless}
    return Order(frozenset(why), words, tuple(sorted(said)), frozenset(prints), tuple(sorted(loose)))


def _proposed(memory: Path, order: Order) -> "set[str]":
    """What proposals say that go, and none that stays: once approved it stands in a file of the person's."""
    going_too: "set[str]" = set()
    staying: "set[str]" = set()
    for one in staged(memory / STAGING):
        content = decode(read_bytes(one.path) or b"")
        is_going = order.may_be_in(content) and proposal(content, order) is None
        (going_too if is_going else staying).update(map(tidy, one.proposal.text.split("\n")))
    by_word = Order(frozenset(), order.words)
    return {text for text in going_too - staying if text and not by_word.has(text)}


def _left_behind(why: "Mapping[str, str]", history: _History) -> "dict[str, Standing]":
    """What was merged into something that goes, and stays itself."""
    return {
        name: found
        for name, found in history.standing.items()
        if name not in why and found.state in (MERGED, CHUNKED) and found.into in why and found.where
    }


def _rows(
    why: "Mapping[str, str]", kept: "Mapping[str, Standing]", history: _History, at: str
) -> "tuple[dict[str, Any], ...]":
    rows: "list[dict[str, Any]]" = []
    for name, reason in sorted(why.items()):
        known = history.standing.get(name)
        if name.startswith("CHUNK-"):
            rows.append({"e": "dissolved", "at": at, "id": name, "why": reason})
        elif known is None or known.state != FORGOTTEN:
            rows.append({"e": "forgotten", "at": at, "id": name, "why": reason})
    for name, found in sorted(kept.items()):
        rows.append(
            {"e": "archived", "at": at, "id": name, "why": LEFT_BEHIND, "by": "forget", "in": found.where}
        )
    return tuple(rows)


def _origins(
    why: "Mapping[str, str]", history: _History
) -> "dict[str, tuple[tuple[str, ...], tuple[str, ...]]]":
    """By id, the messages that it came from: those of which nothing else is remembered, and the others."""
    gone = {*why, *history.replaced}
    gone |= {name for name, found in history.standing.items() if found.state == FORGOTTEN}
    found = {}
    for name in why:
        uids = history.uids.get(name, set())
        # What a provisional line stands for is still to be read: the message may say more.
        alone = {uid for uid in uids & history.answered if history.ids_of[uid] <= gone}
        found[name] = (tuple(sorted(alone)), tuple(sorted(uids - alone)))
    return found
