"""What a model may change in memory: each proposal is checked by itself, and what it cannot show to be safe is refused.

A merged line says nothing that its sources do not say, and all that is right only to the character: numbers, names,
paths, addresses, dates, a "not". Type, weight, date and time are set here, whatever the model wrote.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from _gate import mask_secrets
from _gate.grounding import literals, read_notes
from _gate.notes import problem_with
from _gate.provenance import FROM_PEOPLE, without_prefix
from _gate.wording import ORDINARY, stem, stems
from _likeness import WIDE, features, says_the_same, words_of
from _numbers import NUMBER, ascii_digits, mentions, numbers_said, readings
from _observations import HIGH, LOW, MAX_TEXT_CHARS, MEDIUM, Observation, mark_for, render_line, tidy
from _reflect.answer import Proposal
from _reflect.exact import exact, unfaithful
from _reflect.items import LIFETIMES, Item
from _reflect.rules import DUPLICATE, STALE, can_stand_for, with_text
from _state import Step

MERGED, SUPERSEDED = "merged", "superseded"
MAX_MERGED = 8
# What must not go for something that itself goes sooner.
LASTING = ("fact", "preference", "habit")
# What a merged line keeps of each source's words, and what it may add: joining words are not counted.
KEPT_SHARE, ADDED_SHARE = 0.6, 0.2
_ID_CHARS = 22  # " dc:id=OBS-20261130-001" is still to come


@dataclass(frozen=True)
class Accepted:
    """The steps that passed, and by reason code how many proposals did not."""

    steps: "tuple[Step, ...]"
    refused: "dict[str, int]" = field(default_factory=dict)


@dataclass
class _Sitting:
    """One answer under judgement. `leaving` and `staying` are the numbers that earlier proposals have used."""

    items: "Sequence[Item]"
    by: str
    leaving: "set[int]" = field(default_factory=set)
    staying: "set[int]" = field(default_factory=set)


def judge_proposals(proposals: "Iterable[Proposal]", items: "Sequence[Item]", by: str) -> Accepted:
    """Decide on what a model proposes for the items it was shown, numbered from 1. Pure; never raises."""
    sitting = _Sitting(items, by)
    steps: "list[Step]" = []
    refused: "Counter[str]" = Counter()
    for proposal in proposals:
        problem = _misnumbered(proposal, sitting)
        decided = problem or (_merge if proposal.text else _drop)(proposal, sitting)
        if isinstance(decided, str):
            refused[decided] += 1
            continue
        steps.append(decided)
        sitting.leaving.update(proposal.numbers)
        if proposal.by:
            sitting.staying.add(proposal.by)
    return Accepted(tuple(steps), dict(refused))


def _misnumbered(proposal: Proposal, sitting: _Sitting) -> str:
    """Why the numbers of a proposal cannot be what was meant; "" when they can."""
    named = [*proposal.numbers, *([proposal.by] if proposal.by else [])]
    if len(set(named)) != len(named) or not proposal.numbers:
        return "named_twice"
    if not all(1 <= number <= len(sitting.items) for number in named):
        return "no_such_number"
    if sitting.leaving.intersection(named) or sitting.staying.intersection(proposal.numbers):
        return "named_twice"
    if any(sitting.items[number - 1].protected for number in proposal.numbers):
        return "protected"
    return ""


# Merging -------------------------------------------------------------------------------------------------------------


def _merge(proposal: Proposal, sitting: _Sitting) -> "Step | str":
    sources = [sitting.items[number - 1] for number in proposal.numbers]
    text = tidy(mask_secrets(proposal.text)[0])
    problem = (
        _unlike(sources)
        or _unfit(text, sources)
        or invented(text, sources)
        or _lost(text, sources)
        or unfaithful(text, [source.text for source in sources], _days_of(sources))
        or _turned_around(text, sources)
        or _moved(text, sources)
        or _mixed(text, sources)
    )
    if problem:
        return problem
    new = with_text(_frame(sources), text)
    if new is None:
        return "not_a_note"
    entries = tuple(source.entry for source in sources)
    if len(render_line(new)) + _ID_CHARS >= sum(len(entry.raw) for entry in entries) + len(entries) - 1:
        return "not_shorter"
    return Step(entries, MERGED, sitting.by, new=new)


def _days_of(sources: "Sequence[Item]") -> "list[str]":
    return [source.observation.date for source in sources]


def _unfit(text: str, sources: "Sequence[Item]") -> str:
    if problem_with(text):
        return "not_a_note"
    if len(text) > MAX_TEXT_CHARS or len(text) >= sum(len(source.text) for source in sources):
        return "not_shorter"
    return "too_many" if len(sources) > MAX_MERGED else ""


def _unlike(sources: "Sequence[Item]") -> str:
    """Sources that do not belong together: about different things, one a "not", one by somebody else."""
    groups = [stems(source.text) for source in sources]
    joined, rest = groups[0], groups[1:]
    while rest:
        near = next((group for group in rest if group & joined), None)
        if near is None:
            return "unrelated"
        joined, rest = joined | near, [group for group in rest if group is not near]
    if len({features(source.text).negated for source in sources}) > 1:
        return "negation"
    if len({_speaker(source.text) for source in sources}) > 1:
        return "another_speaker"
    return "type" if len({source.observation.type == "preference" for source in sources}) > 1 else ""


def _speaker(text: str) -> str:
    """ "Bob said: " of a line that a person other than the owner is behind; "" for the owner's."""
    return text[: len(text) - len(without_prefix(text))]


def invented(text: str, sources: "Sequence[Item]") -> str:
    """Why a text says something that no source says; "" when all of it is said."""
    texts = [source.text for source in sources]
    days = [date.fromisoformat(one.observation.date) for one in sources if one.observation.date]
    problem = read_notes(texts, days).problem(text)
    if problem:
        return problem
    words = {word for one in texts for word in words_of(one)}
    if not features(text).names <= words:
        return "invented_name"
    known = frozenset().union(*map(stems, texts))
    said = stems(text)
    return "invented_words" if len(said - known) > max(1, int(ADDED_SHARE * len(said))) else ""


def _lost(text: str, sources: "Sequence[Item]") -> str:
    """Why a text leaves out something of a source that matters; "" when it holds all of it."""
    new, said = features(text), stems(text)
    names = new.names.union(*(features(source.text).names for source in sources))
    spots = _anchors(text, names)
    for source in sources:
        old, meant = features(source.text), stems(source.text)
        if old.negated != new.negated:
            return "negation"
        if _speaker(source.text) != _speaker(text):
            return "another_speaker"
        if not set(literals(source.text)) <= set(literals(text)):
            return "lost_path"
        if not _in_order(_anchors(source.text, names), spots):
            return "lost_number_or_name"
        if len(meant & said) < KEPT_SHARE * len(meant):
            return "lost_words"
    return ""


@dataclass(frozen=True)
class _Anchor:
    """A word, with all that it can be written as; `fixed` when it is right only as it stands: a number or a name."""

    forms: "frozenset[str]"
    fixed: bool


_TOKEN = re.compile(rf"{NUMBER.pattern}|[^\W\d_]+")


def _anchors(text: str, names: "frozenset[str]") -> "list[_Anchor]":
    """The words of a text in their order. `names` are those of all the texts: the word that opens a sentence is one if
    it is one elsewhere."""
    found: "list[_Anchor]" = []
    for match in _TOKEN.finditer(ascii_digits(text)):
        word = match.group().casefold()
        if word[0].isdecimal():
            found.append(_Anchor(frozenset(readings(word)), True))
        else:
            numbers = frozenset() if word in ORDINARY else frozenset(numbers_said(word))
            found.append(_Anchor(numbers | {word}, bool(numbers) or word in names))
    return found


def _in_order(wanted: "Iterable[_Anchor]", found: "Sequence[_Anchor]") -> bool:
    """Whether the numbers and names of `wanted` come in the same order in `found`: "Anna owes 40, Ben 50" must not
    become "Anna owes 50, Ben 40"."""
    rest = iter(found)
    return all(any(anchor.forms & one.forms for one in rest) for anchor in wanted if anchor.fixed)


def _turned_around(text: str, sources: "Sequence[Item]") -> str:
    """ "turned_around" when the words come in an order that no source gives: "Likes coffee more than tea" where
    tea is liked more. One source's wording is the base; of the others, the words that it lacks keep their order."""
    new = _sequence(text)
    for base in sources:
        own = stems(base.text)
        wanted = [_sequence(base.text), *(_sequence(one.text, own) for one in sources if one is not base)]
        if all(_is_subsequence([word for word in words if word in new], new) for words in wanted):
            return ""
    return "turned_around"


def _sequence(text: str, without: "frozenset[str]" = frozenset()) -> "list[str]":
    """The words that carry the meaning, as stems, in their order."""
    found = [part for word in words_of(text) for part in sorted(stems(word), key=word.find)]
    return [part for part in found if part not in without]


def _is_subsequence(wanted: "Iterable[str]", found: "Iterable[str]") -> bool:
    rest = iter(found)
    return all(word in rest for word in wanted)


@dataclass(frozen=True)
class _Word:
    """A word that carries meaning, with all that it can be written as."""

    forms: "frozenset[str]"
    wide: bool


_PARTS = re.compile(r"[^\W_]+")


def _content(text: str, names: "frozenset[str]") -> "list[_Word]":
    """The words that carry the meaning, in their order: names and numbers as they are, others as stems, wide scripts in
    pairs of characters."""
    found: "list[_Word]" = []
    for word in words_of(ascii_digits(text)):
        whole = word.isalnum() or any(map(str.isdecimal, word))
        for part in [word] if whole else _PARTS.findall(word):
            wide = bool(WIDE.search(part))
            if part in names or wide:
                found.append(_Word(frozenset({part}), wide))
            elif any(map(str.isdecimal, part)):
                found.append(
                    _Word(frozenset({part, *readings(part)} if part[0].isdecimal() else {part}), wide)
                )
            elif part not in ORDINARY and (len(part) > 1 or not part.isascii()):
                found.append(_Word(frozenset({stem(part), *numbers_said(part)}), wide))
    return found


def _forms(words: "Iterable[_Word]") -> "frozenset[str]":
    return frozenset().union(*(word.forms for word in words))


def _all_names(texts: "Iterable[str]") -> "frozenset[str]":
    """The names of all the texts: what opens the sentence of one is a name when it is one elsewhere."""
    return frozenset().union(*(features(text).names for text in texts))


def _mixed(text: str, sources: "Sequence[Item]") -> str:
    """ "mixed" when a text sorts who and what anew: "Anna and Ben are 40 and 50". Its words have to come source by
    source, each once; words of several sources fit in with each of them. And what one source alone says has to be
    there, or "Anna is 40, Ben is 50" would become "Anna is 40 and 50": "lost_words"."""
    if len(sources) < 2:
        return ""
    names = _all_names([text, *(source.text for source in sources)])
    said, meant = _content(text, names), [_content(source.text, names) for source in sources]
    known = [_forms(words) for words in meant]
    for number, words in enumerate(meant):
        others = frozenset().union(*known[:number], *known[number + 1 :])
        if not _keeps_own(words, others, _forms(said)):
            return "lost_words"
    runs: "set[tuple[frozenset[int], int]]" = {
        (frozenset(), -1)
    }  # the sources that are done with, and the one that is on
    for word in said:
        owners = [number for number, forms in enumerate(known) if word.forms & forms]
        if owners:
            runs = {
                (done | {now} - {owner}, owner)
                for done, now in runs
                for owner in owners
                if owner == now or owner not in done
            }
    return "" if runs else "mixed"


def _keeps_own(words: "Sequence[_Word]", others: "frozenset[str]", said: "frozenset[str]") -> bool:
    """Whether all is said that a source says alone. Of wide scripts only what it begins with, what it is about: other
    pairs change wherever words come together anew."""
    begins = True
    for word in words:
        own = not word.forms & others
        begins = begins and own
        if own and (begins or not word.wide) and not word.forms & said:
            return False
    return True


def _moved(text: str, sources: "Sequence[Item]") -> str:
    """ "another_day" when what happened or was meant on one day would seem to belong to another."""
    newest = max(sources, key=lambda source: source.moment).observation.date
    named = {(one.year, one.month, one.day) for one in mentions(ascii_digits(text))}
    for source in sources:
        day = source.observation.date
        if day == newest or not source.is_tied:
            continue
        if not day or tuple(map(int, day.split("-"))) not in named:
            return "another_day"
    return ""


def _frame(sources: "Sequence[Item]") -> Observation:
    """The observation that a merged text goes into: the newest source's, with the weight of the heaviest and the type
    of the one that lives longest."""
    observations = [source.observation for source in sources]
    newest = max(sources, key=lambda source: source.moment).observation
    heaviest = max(observations, key=lambda one: (one.importance, one.decayed))
    kind = max((one.type for one in observations), key=lambda name: LIFETIMES[name])
    priority = max((one.priority for one in observations), key=(LOW, MEDIUM, HIGH).index)
    return replace(
        newest,
        type=kind,
        importance=heaviest.importance,
        decayed=heaviest.decayed,
        ttl=newest.ttl if len({one.ttl for one in observations}) == 1 else "",
        mark=priority if priority != mark_for(heaviest.importance) else "",
    )


# Dropping ------------------------------------------------------------------------------------------------------------


def _drop(proposal: Proposal, sitting: _Sitting) -> "Step | str":
    item = sitting.items[proposal.numbers[0] - 1]
    if proposal.by:
        other = sitting.items[proposal.by - 1]
        problem = _not_superseded(item, other)
        return problem or Step((item.entry,), SUPERSEDED, sitting.by, kept=other.entry)
    if item.is_stale:
        return Step((item.entry,), STALE, sitting.by)
    for number, other in enumerate(sitting.items, start=1):
        if other is not item and number not in sitting.leaving and _repeats(item, other):
            sitting.staying.add(number)
            return Step((item.entry,), DUPLICATE, sitting.by, kept=other.entry)
    return "no_successor"


def _repeats(item: Item, other: Item) -> bool:
    if not says_the_same(features(item.text), features(other.text)) or not can_stand_for(other, item):
        return False
    return item.observation.date == other.observation.date or not (item.is_tied or other.is_tied)


def _not_superseded(item: Item, other: Item) -> str:
    """Why `other` does not make `item` superfluous; "" when it does: it is later and says all of it, and more."""
    old, new = item.observation, other.observation
    if other.protected == "provisional":
        return "provisional"
    if bool(old.date) != bool(new.date) or other.moment <= item.moment:
        return "not_later"
    if _speaker(item.text) != _speaker(other.text):
        return "another_speaker"
    ranks = (LOW, MEDIUM, HIGH)
    if ranks.index(new.priority) < ranks.index(old.priority):
        return "weaker"
    if old.type in LASTING and other.lifetime < item.lifetime:
        return "type"
    if old.type == "preference" and new.type not in FROM_PEOPLE:
        return "type"
    return _not_restated(item, other) or _moved(other.text, [item, other])


def _not_restated(item: Item, other: Item) -> str:
    """Why `other` does not say all that `item` says: each word, name and number, in its order. What it puts otherwise
    may be about somebody or something else: "Ben's dentist cost 90", "Anna's dentist cost 50"."""
    if exact(item.text).negated != exact(other.text).negated:
        return "negation"
    if not exact(other.text).covers(exact(item.text)):
        return "not_restated"
    names = _all_names([item.text, other.text])
    meant, said = _content(item.text, names), _content(other.text, names)
    rest = iter(said)
    in_order = all(any(word.forms & one.forms for one in rest) for word in meant)
    if not meant or not in_order or not set(literals(item.text)) <= set(literals(other.text)):
        return "not_restated"
    return ""
