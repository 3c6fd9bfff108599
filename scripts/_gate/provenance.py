"""Which message a line came from, who said it, and when.

Rules, preferences and goals are what a person who is trusted said; what a web page, a tool or another member of a group
said comes to us in the words of the assistant or of an untrusted sender, whatever phrases it uses.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Optional

from _gate.secrets import mask_secrets
from _gate.wording import language_of, own_words, stems
from _likeness import features
from _numbers import is_calendar_word
from _observations import Candidate, Observation, tidy
from _transcripts.message import Message

OWNER, ASSISTANT, OTHER = "owner", "assistant", "other"
FROM_PEOPLE = ("rule", "preference", "goal")
UNTRUSTED_IMPORTANCE = (
    5.9  # just below 🔴: what somebody else said is never among the first things a session sees
)
_CLOSE_MINUTES = 2
# A line whose words a trusted person mostly used is theirs, whoever said them first.
_MOSTLY = 0.6
# The assistant repeats what a person said and often comes closer to the wording of the line.
_ENOUGH_OF_THE_BEST = 0.5
_MAX_SENDER_CHARS = 40
_PREFIX = re.compile(r"^(?:assistant|someone else|.{1,60}?) said: ", re.I)
_COMMAND = re.compile(
    r"^(?:please |bitte )?(?:always|never|from now on|ignore|disregard|run|execute|send|forward|reply|respond|"
    r"answer|do not|don't|you must|"
    r"you should|must|make sure|remember to|delete|install|download|use|immer|niemals|ab (?:jetzt|sofort)|führe|"
    r"sende|leite|antworte|"
    r"ignoriere|lösche|toujours|jamais|désormais|ignore[zr]?|exécute[zr]?|envoie|envoye[zr]|siempre|nunca|a partir "
    r"de ahora|ejecuta|"
    r"envía|ignora|sempre|mai|d'ora in poi|esegui|invia|execute|envie|a partir de agora)\b"
    r"|^(?:从现在|從現在|以后|以後|总是|總是|永远|请|請|忽略|执行|今後|これから|必ず|常に|絶対)",
    re.I,
)
_RULE_WORDS = re.compile(
    r"^(?:rule|regel|règle|regla|regola|regra|preference|user (?:wants|says|asked)[^:]{0,40})\s*[:：]\s*",
    re.I,
)


@dataclass(frozen=True)
class Said:
    """A message with what the gate looks at. `at` is local time; `stems` are of the sender's own words."""

    message: Message
    position: int
    at: datetime
    stems: "frozenset[str]"
    language: str

    @property
    def speaker(self) -> str:
        if self.message.role != "user":
            return ASSISTANT
        return OWNER if self.message.trusted else OTHER

    @functools.cached_property
    def day(self) -> str:
        return self.at.strftime("%Y-%m-%d")

    @property
    def clock(self) -> str:
        return self.at.strftime("%H:%M")


@dataclass(frozen=True)
class Source:
    """Where a line came from. `said` is the message that it best comes from, None when only the language differs.

    `speaker` is OWNER, ASSISTANT or OTHER; `may_rule` says whether a trusted person said it clearly enough for a rule.
    """

    said: "Optional[Said]"
    speaker: str
    sender: str = ""
    may_rule: bool = False


def read_window(window: Sequence[Message], zone: tzinfo) -> "tuple[Said, ...]":
    """The messages of a window, in order, with their words and local times."""
    return tuple(
        Said(
            message,
            position,
            message.at.astimezone(zone),
            stems(own_words(message.text) if message.role == "user" else message.text),
            language_of(message.text),
        )
        for position, message in enumerate(window)
    )


def without_prefix(text: str) -> str:
    """A line without the "Bob said: " that the gate put in front of it."""
    return _PREFIX.sub("", text, count=1)


def find_source(candidate: Candidate, said: "Sequence[Said]") -> Optional[Source]:
    """The Source of a line; None when nothing like it was said."""
    text = without_prefix(candidate.observation.text)
    if candidate.uids:
        named = [one for one in said if one.message.uid in candidate.uids]
        if named:
            return _from_named(candidate, text, named)
    scores = _scores(text, said)
    if any(scores):
        return _from_scores(candidate, text, said, scores)
    return _from_translation(candidate, text, said)


def _scores(text: str, said: "Sequence[Said]") -> "list[int]":
    """How much of a line each message holds: numbers and names weigh double."""
    weights = _weights(text)
    return [_score(weights, one.stems) for one in said]


def _weights(text: str) -> "dict[str, int]":
    names = stems(" ".join(features(text).names))
    return {word: 2 if word in names or any(map(str.isdecimal, word)) else 1 for word in stems(text)}


def _score(weights: "Mapping[str, int]", words: "frozenset[str]") -> int:
    return sum(weights[word] for word in words.intersection(weights))


def _from_named(candidate: Candidate, text: str, named: "Sequence[Said]") -> Source:
    scores = _scores(text, named)
    best = named[scores.index(max(scores))]
    if _is_foreign(candidate, named):
        return Source(best, OTHER, candidate.sender)
    return Source(best, best.speaker, best.message.sender, may_rule=best.speaker == OWNER)


def _is_foreign(candidate: Candidate, said: "Sequence[Said]") -> bool:
    """True when the candidate names a sender who is not the trusted one of these messages."""
    owners = {one.message.sender for one in said if one.speaker == OWNER}
    return bool(candidate.sender) and candidate.sender not in owners


def _from_scores(candidate: Candidate, text: str, said: "Sequence[Said]", scores: "Sequence[int]") -> Source:
    trusted = [(score, -one.position) for one, score in zip(said, scores) if one.speaker == OWNER]
    others = [(score, -one.position) for one, score in zip(said, scores) if one.speaker != OWNER]
    best_trusted, best_other = max(trusted, default=(0, 1)), max(others, default=(0, 1))
    union: "frozenset[str]" = frozenset().union(*(one.stems for one in said if one.speaker == OWNER))
    # One and the same person may say a thing in several messages.
    together = _score(_weights(text), union)
    if _is_foreign(candidate, said):
        return Source(
            said[-best_other[1]] if best_other[0] else said[-best_trusted[1]], OTHER, candidate.sender
        )
    if (
        best_trusted[0]
        and together >= _ENOUGH_OF_THE_BEST * best_other[0]
        and not (
            _COMMAND.match(_RULE_WORDS.sub("", text)) and not _rules(text, said, best_trusted, best_other)
        )
    ):
        return Source(said[-best_trusted[1]], OWNER, may_rule=_rules(text, said, best_trusted, best_other))
    source = said[-best_other[1]] if best_other[0] else said[-best_trusted[1]]
    return Source(source, source.speaker, source.message.sender)


def _rules(text: str, said: "Sequence[Said]", trusted: "tuple[int, int]", other: "tuple[int, int]") -> bool:
    """True when a trusted message clearly is where a rule, preference or goal comes from; ties go against it unless
    the person spoke first."""
    if not trusted[0]:
        return False
    wanted = stems(text)
    share = len(wanted & said[-trusted[1]].stems) / max(1, len(wanted))
    if share >= _MOSTLY:
        return True
    if _COMMAND.match(_RULE_WORDS.sub("", text)) and share < 0.5 and other[0]:
        return False
    return trusted[0] > other[0] or (trusted[0] == other[0] and trusted[1] > other[1])


def _from_translation(candidate: Candidate, text: str, said: "Sequence[Said]") -> Optional[Source]:
    """No word in common is no proof against a line in another language than the message."""
    language = language_of(text)
    foreign = [one for one in said if one.language and language and one.language != language]
    if not foreign or not _names_agree(text, language, foreign):
        return None
    owners = [one for one in foreign if one.speaker == OWNER]
    if _is_foreign(candidate, said):
        return Source(None, OTHER, candidate.sender)
    if not owners:
        return Source(foreign[-1], foreign[-1].speaker, foreign[-1].message.sender)
    alone = len(owners) == len(foreign)
    may_rule = alone or not (
        candidate.observation.type == "rule" or _COMMAND.match(_RULE_WORDS.sub("", text))
    )
    return Source(owners[-1] if len(owners) == 1 else None, OWNER, may_rule=may_rule)


# Written with a capital in some languages, and translated.
_LANGUAGES = frozenset(
    "english german french spanish italian portuguese dutch polish chinese japanese korean russian arabic turkish "
    "hindi european american british germany france spain italy portugal".split()
)
_LATIN = ("english", "german", "french", "spanish", "italian", "portuguese", "dutch", "polish")


def _names_agree(text: str, language: str, said: "Sequence[Said]") -> bool:
    """Names stay as they are between languages with Latin letters; elsewhere, and in German, nothing can be told."""
    names = [
        name
        for name in features(text).names
        if len(name) > 3 and not is_calendar_word(name) and name not in _LANGUAGES
    ]
    if language == "german" or language not in _LATIN or not names:
        return True
    heard = [one for one in said if one.language in _LATIN]
    if len(heard) < len(said):
        return True
    spoken = " ".join(one.message.text for one in heard).casefold()
    return any(name[:4] in spoken for name in names)


def place(observation: Observation, source: Source, said: "Sequence[Said]") -> "tuple[str, str]":
    """Date and time of a line: those given where a message has them, else those of the message it comes from."""
    days = {one.day for one in said}
    pool = [one for one in said if one.day == observation.date] if observation.date in days else list(said)
    near = _nearest(observation.time, pool)
    if near and (observation.date in days or near == source.said or source.said is None):
        return near.day, near.clock
    if source.said in pool and source.said:
        return source.said.day, source.said.clock
    anchor = near or max(pool, key=lambda one: (one.speaker == OWNER, one.at))
    return (anchor.day, anchor.clock)


def _nearest(clock: str, pool: "Sequence[Said]") -> Optional[Said]:
    """The message whose time of day is within two minutes of `clock`; None when there is none."""
    found = re.fullmatch(r"([01]\d|2[0-3]):([0-5]\d)", clock)
    if not found:
        return None
    wanted = timedelta(hours=int(found[1]), minutes=int(found[2]))
    distances = [
        (abs(wanted - timedelta(hours=one.at.hour, minutes=one.at.minute)), one.position, one) for one in pool
    ]
    best = min(distances, key=lambda item: item[:2], default=None)
    return best[2] if best and best[0] <= timedelta(minutes=_CLOSE_MINUTES) else None


_RESERVED = frozenset("user owner assistant system me i human ai bot someone somebody admin root".split())


def attributed(text: str, source: Source) -> str:
    """The text, with "Assistant said: " or "NAME said: " in front when it was not a trusted person."""
    if source.speaker == OWNER:
        return text
    if source.speaker == ASSISTANT:
        return text if re.match(r"(?:the )?assistant\b", text, re.I) else "Assistant said: " + text
    name = speaker_name(source.sender)
    named = re.search(rf"(?<![\w@./-]){re.escape(name)}(?![\w@]|\.\w)", text)
    if text.startswith(name + " ") or (named and not _COMMAND.match(_RULE_WORDS.sub("", text))):
        return text
    return f"{name} said: {text}"


def speaker_name(sender: str) -> str:
    """A sender's name as it may stand in a line: short, one line, and not one that means the owner."""
    name = tidy(mask_secrets(sender)[0].replace(":", " "), _MAX_SENDER_CHARS)
    if len(name) < 2 or name.casefold() in _RESERVED or name.casefold().startswith(("the user", "user ")):
        return "Someone else"
    return name


def demoted_type(kind: str, source: Source) -> str:
    """The type that a line may have: rule, preference and goal only from a trusted person."""
    if kind not in FROM_PEOPLE or source.may_rule:
        return kind
    return "context" if kind == "rule" else "fact"
