"""What kind of observation a clause is, and how important."""

from __future__ import annotations

import re

from _extract.text import LABEL, is_name
from _extract.weigh import Clause
from _lexicon import OPENING

# Where each type starts on the scale of 0 to 10; signs of weight move it by the steps below.
STARTS_AT = {
    "rule": 8.0,
    "goal": 6.0,
    "preference": 5.5,
    "habit": 5.0,
    "event": 4.5,
    "fact": 4.0,
    "context": 3.5,
}
MATTERS, DATED, NUMBERED, NAMED = 2.0, 1.0, 0.5, 0.5
LITTLE_SAID, ABOUT_YOU, ASKED, FROM_ASSISTANT = -1.5, -1.0, -2.0, -0.5
_SHORT_BY_NATURE = ("rule", "preference", "habit")
LITTLE = 2.0  # worth of a clause that says little
HIGHEST = 8.5  # from 9 on nothing is ever archived by itself: that is not for a rule of thumb to say

_TELLING = frozenset(
    ("first", "rule", "opens_rule", "goal", "habit", "preference", "past", "matters", "when", "outcome")
)
ONLY_BY_THE_OWNER = ("rule", "preference", "goal")
_NO_ORDER = re.compile(
    r"(?:always|never)\s+(?:been|seen|had|heard|thought|felt|knew|known|got|gotten|told|did|a|an|the|my|our|i|we|mind|again|"
    r"good|nice|fun|so|that|this|know|\w+ed)\b|call me\s+(?:on|at|when|back|later|"
    r"tomorrow|if|maybe|in|after|before|crazy|\+?\d)",
    re.IGNORECASE,
)
# Commands to an assistant: done with once they are done.
_COMMAND = re.compile(
    r"(?:please\s+|can you\s+|could you\s+|now\s+|then\s+|let's\s+)*(?:check|fix|run|add|write|show|give|"
    r"tell|make|translate|summari[sz]e|"
    r"explain|find|search|open|create|update|delete|remove|refactor|rename|rewrite|generate|list|print|"
    r"install|test|try|use|do|go|look|"
    r"read|send|draft|convert|compare|calculate|implement|commit|push|merge|deploy|restart|stop|start|"
    r"continue|help|"
    r"prüfe?|zeig|schreib|mach|erkläre?|übersetze?|montre|écris|explique|traduis|corrige|muestra|escribe|"
    r"explica|traduce|arregla|"
    r"mostra|escreve|scrivi|spiega|traduci|toon|schrijf|vertaal|leg|pokaż|napisz|przetłumacz|göster|yaz|"
    r"çevir|покажи|напиши|переведи)\b",
    re.IGNORECASE,
)


def worth_a_look(clause: Clause) -> bool:
    """False for what gives nothing in any company: questions without a fact in them, commands, small talk, and
    all of the assistant's words but outcomes."""
    if clause.utterance.from_assistant:
        return (
            "outcome" in clause.signs
            and not clause.asks
            and (clause.numbered or clause.named or "when" in clause.signs)
        )
    routine = "habit" in clause.signs and "first" in clause.signs and clause.size > 3
    if clause.said < 1.0 and not routine:
        return False
    if clause.bare_size < 3 and not (
        clause.question or clause.numbered or clause.signs & _TELLING - {"first"}
    ):
        return False
    if clause.asks:
        return "first" in clause.signs and (clause.numbered or bool(clause.signs & {"when", "matters"}))
    return not (
        _COMMAND.match(clause.text) and not clause.signs & {"first", "rule", "opens_rule", "when", "matters"}
    )


def telling(clause: Clause) -> bool:
    """True for what is worth its line even where little else was said: it shows whose it is, when, or what."""
    if not clause.language:
        return clause.said >= LITTLE and (clause.numbered or clause.named or clause.size >= 8)
    shown = clause.signs & _TELLING or clause.question or clause.numbered or clause.named
    return bool(shown) or clause.said >= LITTLE


def judge(clause: Clause) -> "tuple[str, float]":
    """The type (one of seven) and the importance (0.0 to 10.0, in halves). Rules, preferences and goals only
    from a person who is trusted."""
    kind = _kind(clause)
    message = clause.utterance.message
    owner = message.trusted and message.role == "user" and not _quotes_somebody(clause.text)
    if kind in ONLY_BY_THE_OWNER and not owner:
        kind = "event" if "when" in clause.signs and "past" in clause.signs else "fact"
    return kind, _importance(clause, kind)


def _quotes_somebody(text: str) -> bool:
    """True for a line of a chat that was pasted into a message ("Anna: I want to ...")."""
    head = LABEL.match(text)
    return head is not None and is_name(head.group(1))


def _kind(clause: Clause) -> str:
    signs = clause.signs
    if clause.asks:
        return "context"
    if "rule" in signs or _opens_as_a_rule(clause):
        return "rule"
    for kind in ("habit", "goal", "preference"):
        if kind in signs:
            return kind
    if "past" in signs or ("when" in signs and (clause.numbered or "matters" in signs or "first" in signs)):
        return "event"
    if "now" in signs:
        return "context"
    if clause.question or signs & {"first", "matters", "when"} or clause.numbered or clause.named:
        return "fact"
    return "context"


def _opens_as_a_rule(clause: Clause) -> bool:
    """ "Never deploy on Fridays", not "Never been there", and not what somebody else was told."""
    return (
        OPENING in clause.signs
        and "goal" not in clause.signs
        and not clause.utterance.label
        and not _NO_ORDER.match(clause.text)
    )


def _importance(clause: Clause, kind: str) -> float:
    signs = clause.signs
    value = STARTS_AT[kind]
    value += MATTERS if "matters" in signs else 0.0
    value += DATED if "when" in signs and kind != "habit" else 0.0
    value += NUMBERED if clause.numbered else 0.0
    value += NAMED if clause.named else 0.0
    if clause.said < LITTLE and kind not in _SHORT_BY_NATURE and "matters" not in signs:
        value += LITTLE_SAID
    value += ABOUT_YOU if "second" in signs and "first" not in signs and kind != "rule" else 0.0
    value += ASKED if clause.asks else 0.0
    value += FROM_ASSISTANT if clause.utterance.from_assistant else 0.0
    return min(HIGHEST, max(1.0, value))
