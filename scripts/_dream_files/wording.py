"""What an agent may write in its own words: hook lines, topics and findings say nothing that their sources do not.

Hook lines are read by every session, so that a word in them that nobody said could be an order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from _gate import mask_secrets
from _gate.grounding import read_notes
from _hooks.words import content_stems
from _lexicon import languages_of, stem_of
from _likeness import WIDE, features, fingerprint
from _numbers import ascii_digits, mentions
from _observations import is_date, tidy

MAX_HOOK_CHARS, MAX_TOPIC_CHARS = 500, 60
# Of the words of a finding, how many may be other words than the sources': as for lines that are merged.
ADDED_SHARE = 0.2
_TOLD_WORDS = 2  # that a finding has of each source
# Where a clause ends; the words that join two of them make less of neither.
_JOINING = frozenset("but aber mais pero ma mas maar men ale но instead".split())
_CLAUSE_END = re.compile(
    r"[,;:.!?…](?=\s|$)|[()–—。、，；：！？]|\s-\s|(?<!\w)(?:but|aber|mais|pero|maar|ale|но)(?!\w)"
)
_IN_FRONT, _LETTER = re.compile(r"^[\W\d_]+"), re.compile(r"[^\W\d_]")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
# What may be a path or an address: signs of one beside letters.
_ADDRESS = re.compile(r"(?=\S*[^\W\d_])\S*[/\\@#]\S*|\S*[^\W\d_]\.[^\W\d_]\S*")
_TOPIC = re.compile(r"^[-*]\s+\*\*(.*?)(?: \(chunked\))?\*\*")
# What a hook line for a chunk says about it, in words of ours.
_ABOUT_CHUNK = re.compile(r"\bConfidence: [a-z]+\.|\bDate range: \S+ → \S+?\.(?=\s|$)")


def ground_problems(text: str, sources: "Sequence[str]", days: "Sequence[str]") -> "list[str]":
    """Which kinds of things a text has that no source has: a path or address, a date, a number."""
    ground = read_notes(list(sources), [date.fromisoformat(day) for day in days if is_date(day)])
    text = ascii_digits(text)
    bare = _ADDRESS.sub(" ", text)
    undated = _undated(bare)
    # The ground tells the first kind that it meets, which hides the others.
    return list(dict.fromkeys(filter(None, map(ground.problem, (text, bare, undated)))))


def _undated(text: str) -> str:
    """A text, whose digits are ASCII, with blanks for the dates in it."""
    for one in mentions(text):
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    return text


def words_unsaid(text: str, sources: "Iterable[str]") -> "list[str]":
    """The stems of the words that tell something in a text and that no source has; numbers and dates are left to
    `ground_problems`. In scripts without spaces, where words cannot be told, a third may be new."""
    source = "\n".join(sources)
    languages = languages_of(source)
    said, known = content_stems(text, languages), content_stems(source, languages)
    wide = {stem for stem in said if WIDE.match(stem)}
    new = {stem for stem in said - known if not stem.isdigit()}
    return sorted(new - wide if 3 * len(new & wide) < len(wide) else new)


def topic_problem(topic: str, sources: "Sequence[str]", phrases: "Sequence[str]") -> str:
    """Why a topic must not stand in memory, "" when it may: its words are those of the sources, or of the search
    phrases that the archive has for them."""
    if not words_unsaid(topic, sources):
        return ""
    if words_unsaid(topic, [*sources, *phrases]):
        return "invented words"
    return f"more than {MAX_TOPIC_CHARS} characters" if len(topic) > MAX_TOPIC_CHARS else ""


def finding_problems(finding: str, sources: "Sequence[str]", days: "Sequence[str]") -> "list[str]":
    """All kinds of things that a finding says and no source does; none when all of it is said."""
    new, languages = words_unsaid(finding, sources), languages_of("\n".join(sources))
    most = max(1, int(ADDED_SHARE * len(content_stems(finding, languages))))
    words = "invented words" if len(new) > most else ""
    turned = list(dict.fromkeys((*_denied(finding, sources), *_turned_around(finding, sources))))
    found = [*ground_problems(finding, sources, days), words, *turned]
    return list(filter(None, found))


def untold_sources(finding: str, sources: "Sequence[str]") -> "list[int]":
    """The sources, by number, that a finding does not tell: it has to have two of the telling words of each, or all
    where a source has fewer."""
    languages = languages_of("\n".join(sources))
    said = _telling(finding, languages)
    wanted = [_telling(source, languages) for source in sources]
    return [at for at, words in enumerate(wanted) if len(words & said) < min(_TOLD_WORDS, len(words))]


def _telling(text: str, languages: "Sequence[str]") -> "set[str]":
    return {stem for stem in content_stems(text, languages) if not stem.isdigit()}


def _denied(text: str, sources: "Sequence[str]") -> "list[str]":
    """ "negation" when a text denies and no source does; words of grammar are no new words."""
    is_new = features(text).negated and not any(features(source).negated for source in sources)
    return ["negation"] if is_new else []


@dataclass(frozen=True)
class _Clause:
    """A part of a sentence: its telling words, whether it denies, and what makes less of it, such as "maybe"."""

    words: "frozenset[str]"
    negated: bool
    hedges: "frozenset[str]"


def _turned_around(text: str, sources: "Sequence[str]") -> "list[str]":
    """ "negation" when a text has words that its sources only have where they deny, and does not deny; "hedge" when it
    says for certain what they only say with a maybe, or makes less of something than any source does."""
    if _is_cut_short(text, sources):
        return []
    languages = languages_of("\n".join(sources))
    known = [clause for source in sources for clause in _clauses(source, languages)]
    hedges = frozenset().union(*(clause.hedges for clause in known))
    found = []
    for said in _clauses(text, languages):
        beside = [[one for one in known if word in one.words] for word in sorted(said.words)]
        if not said.negated and any(there and all(one.negated for one in there) for there in beside):
            found.append("negation")
        is_certain = not said.hedges and any(there and all(one.hedges for one in there) for there in beside)
        if is_certain or said.hedges - hedges:
            found.append("hedge")
    return found


def _is_cut_short(text: str, sources: "Iterable[str]") -> bool:
    """Whether a text is the beginning of a source, word for word and with the sign for what was left out behind it, as
    the lines are that `run` writes."""
    begins, sign, behind = text.partition("…")
    said = fingerprint(_IN_FRONT.sub("", begins))
    lines = (fingerprint(_IN_FRONT.sub("", line)) for source in sources for line in source.split("\n"))
    return bool(said and sign and not _LETTER.search(behind)) and any(one.startswith(said) for one in lines)


def _clauses(text: str, languages: "Sequence[str]") -> "list[_Clause]":
    """The clauses of a text; one without a telling word of its own, such as "maybe", belongs to the one before it."""
    # Behind a mark and a time its first word would pass for a name.
    text = ". ".join(_IN_FRONT.sub("", line) for line in _undated(ascii_digits(text)).split("\n"))
    certain = _JOINING | features(text).names  # "31 May" is no "may"
    found: "list[_Clause]" = []
    loose = _Clause(frozenset(), False, frozenset())
    for part in _CLAUSE_END.split(text):
        one = features(part.strip())
        words = frozenset(_telling(part, languages)) - {stem_of(word, languages[0]) for word in one.hedges}
        clause = _Clause(words, one.negated, one.hedges - certain)
        if words:
            found.append(_together(loose, clause))
            loose = _Clause(frozenset(), False, frozenset())
        elif found:
            found[-1] = _together(found[-1], clause)
        else:
            loose = _together(loose, clause)
    return found


def _together(one: _Clause, other: _Clause) -> _Clause:
    return _Clause(one.words | other.words, one.negated or other.negated, one.hedges | other.hedges)


def hook_text_problem(line: str, source: str, phrases: "Sequence[str]") -> str:
    """Why a hook line, without its reference, must not stand in the log; "" when `source` says all of it. Its topic may
    use the words of the search phrases as well."""
    plain = tidy(line.replace("*", ""))
    if len(plain) > MAX_HOOK_CHARS:
        return f"a hook has at most {MAX_HOOK_CHARS} characters"
    if mask_secrets(plain)[1]:
        return "it holds a secret"
    bold = _TOPIC.match(line)
    topic, rest = (bold.group(1), line[bold.end() :]) if bold else ("", line)
    words = "invented words" if words_unsaid(_ABOUT_CHUNK.sub(" ", rest), [source]) else ""
    problems = [
        *ground_problems(plain, [source], _DAY.findall(source)),
        topic_problem(topic, [source], phrases),
        words,
        *_denied(plain, [source]),
        *_turned_around(_ABOUT_CHUNK.sub(" ", rest.replace("*", "")), [source]),
    ]
    found = ", ".join(dict.fromkeys(filter(None, problems)))
    return f"what it refers to does not say all of it ({found})" if found else ""
