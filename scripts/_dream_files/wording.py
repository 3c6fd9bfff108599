"""What an agent may write in its own words: hook lines, topics and findings say nothing that their sources do not.

Hook lines are read by every session, so that a word in them that nobody said could be an order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date

from _gate import mask_secrets
from _gate.grounding import read_notes
from _hooks.words import content_stems
from _lexicon import languages_of
from _likeness import WIDE, features
from _observations import is_date, tidy

MAX_HOOK_CHARS, MAX_TOPIC_CHARS = 500, 60
# Of the words of a finding, how many may be other words than the sources': as for lines that are merged.
ADDED_SHARE = 0.2
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_TOPIC = re.compile(r"^[-*]\s+\*\*(.*?)(?: \(chunked\))?\*\*")
# What a hook line for a chunk says about it, in words of ours.
_ABOUT_CHUNK = re.compile(r"\bConfidence: [a-z]+\.|\bDate range: \S+ → \S+?\.(?=\s|$)")


def ground_problem(text: str, sources: "Sequence[str]", days: "Sequence[str]") -> str:
    """Why a text has a number, path, address or date that no source has; "" when it has none."""
    return read_notes(list(sources), [date.fromisoformat(day) for day in days if is_date(day)]).problem(text)


def words_unsaid(text: str, sources: "Iterable[str]") -> "list[str]":
    """The stems of the words that tell something in a text and that no source has; numbers and dates are left to
    `ground_problem`. In scripts without spaces, where words cannot be told, a third may be new."""
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


def finding_problem(finding: str, sources: "Sequence[str]", days: "Sequence[str]") -> str:
    """Why a finding says something that no source says; "" when all of it is said."""
    new, languages = words_unsaid(finding, sources), languages_of("\n".join(sources))
    most = max(1, int(ADDED_SHARE * len(content_stems(finding, languages))))
    return (
        ground_problem(finding, sources, days)
        or ("invented words" if len(new) > most else "")
        or _turned_around(finding, sources)
    )


def _turned_around(text: str, sources: "Sequence[str]") -> str:
    """ "negation" when a text denies and no source does; words of grammar are no new words."""
    is_new = features(text).negated and not any(features(source).negated for source in sources)
    return "negation" if is_new else ""


def hook_text_problem(line: str, source: str, phrases: "Sequence[str]") -> str:
    """Why a hook line, without its reference, must not stand in the log; "" when `source` says all of it. Its topic may
    use the words of the search phrases as well."""
    plain = tidy(line.replace("*", ""))
    if len(plain) > MAX_HOOK_CHARS:
        return f"a hook has at most {MAX_HOOK_CHARS} characters"
    if mask_secrets(plain)[1]:
        return "it holds a secret"
    found = _TOPIC.match(line)
    topic, rest = (found.group(1), line[found.end() :]) if found else ("", line)
    problem = (
        ground_problem(plain, [source], _DAY.findall(source))
        or topic_problem(topic, [source], phrases)
        or ("invented words" if words_unsaid(_ABOUT_CHUNK.sub(" ", rest), [source]) else "")
        or _turned_around(plain, [source])
    )
    return f"what it refers to does not say all of it ({problem})" if problem else ""
