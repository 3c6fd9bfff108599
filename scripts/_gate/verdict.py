"""The decision on every line that a model or the extractor proposes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Optional

from _gate.grounding import Ground, read_ground
from _gate.notes import problem_with
from _gate.provenance import (
    OWNER,
    UNTRUSTED_IMPORTANCE,
    Said,
    Source,
    attributed,
    demoted_type,
    find_source,
    place,
    read_window,
    without_prefix,
)
from _gate.recorded import Recorded
from _gate.secrets import mask_secrets
from _gate.wording import own_words, sentences, stems
from _likeness import features, says_the_same
from _observations import (
    MAX_TEXT_CHARS,
    Candidate,
    Observation,
    make_observation,
    parse_line,
    render_line,
    tidy,
)
from _transcripts.message import Message

_MAX_SALVAGED_CHARS = 300
_MAX_SALVAGED_IMPORTANCE = (
    7.0  # the person's words are sure, the weight that the model gave to its own is not
)


@dataclass(frozen=True)
class Verdict:
    """What the gate decided. Every candidate is in `accepted` or in `refused`.

    `accepted` are in order, with text, date, time, type and importance put right. `refused` holds (reason code,
    text); the codes are "empty", "echo", "not_a_note", "not_said", "ungrounded_number", "ungrounded_date",
    "ungrounded_path", "turned_around" and "duplicate". `demoted` counts rules, preferences and goals that no
    trusted person stated, `masked` the secrets found, `salvaged` the wrong lines for which the person's own
    sentence was taken instead.
    """

    accepted: "tuple[Candidate, ...]"
    refused: "tuple[tuple[str, str], ...]"
    demoted: int
    masked: int
    salvaged: int = 0


@dataclass
class _Sitting:
    """One call of `judge`."""

    said: "tuple[Said, ...]"
    ground: Ground
    recorded: Recorded
    examples: "tuple[str, ...]"
    accepted: "list[Candidate]" = field(default_factory=list)
    refused: "list[tuple[str, str]]" = field(default_factory=list)
    demoted: int = 0
    masked: int = 0
    salvaged: int = 0


def judge(
    candidates: Sequence[Candidate],
    window: Sequence[Message],
    known: Sequence[Observation],
    zone: tzinfo,
    examples: Sequence[str] = (),
) -> Verdict:
    """Decide which candidates enter memory, and in which form.

    `window` is what the model was shown (texts masked), `known` what the log holds, `zone` the person's. `examples` are
    the texts of the example lines in the prompt, which small models like to repeat. Pure; never raises.
    """
    sitting = _Sitting(
        read_window(window, zone), read_ground(window, zone), Recorded(known), _unsaid(examples, window)
    )
    for candidate in candidates:
        _decide(candidate, sitting)
    return Verdict(
        tuple(sitting.accepted), tuple(sitting.refused), sitting.demoted, sitting.masked, sitting.salvaged
    )


def _unsaid(examples: Sequence[str], window: Sequence[Message]) -> "tuple[str, ...]":
    """The example lines whose words did not happen to be said."""
    spoken = stems("\n".join(message.text for message in window))
    return tuple(example for example in examples if not stems(example) <= spoken)


def _decide(candidate: Candidate, sitting: _Sitting) -> None:
    text, masked = mask_secrets(candidate.observation.text)
    sitting.masked += masked
    text = tidy(text, MAX_TEXT_CHARS)
    problem = problem_with(without_prefix(text)) or _example_problem(text, sitting)
    if problem:
        sitting.refused.append((problem, text))
        return
    observation = _bare(candidate.observation, text)
    source = find_source(candidate._replace(observation=observation), sitting.said) if sitting.said else None
    if source is None:
        sitting.refused.append(("not_said", text))
        return
    day, clock = place(candidate.observation, source, sitting.said)
    kind = demoted_type(observation.type, source)
    settled = replace(observation, type=kind, date=day, time=clock)
    problem = sitting.ground.problem(text) or _turned_around(text, source)
    if problem:
        _salvage(candidate, settled, problem, source, sitting)
        return
    if _accept(candidate, settled, source, sitting) and kind != observation.type:
        sitting.demoted += 1


def _example_problem(text: str, sitting: _Sitting) -> str:
    wanted = features(text)
    return "echo" if any(says_the_same(wanted, features(example)) for example in sitting.examples) else ""


def _bare(observation: Observation, text: str) -> Observation:
    """Without what only the log may say of an observation, and without fields that nobody checked.

    The time is a stand-in: `place` sets it.
    """
    return Observation(
        text,
        observation.type,
        round(observation.importance, 1),
        time="00:00",
        ttl=_safe(observation.ttl),
        confidence=_safe(observation.confidence),
        source=_safe(observation.source),
    )


def _safe(value: str) -> str:
    return value if re.fullmatch(r"[\w.:+/-]{1,40}", value) and not mask_secrets(value)[1] else ""


def _accept(candidate: Candidate, settled: Observation, source: Source, sitting: _Sitting) -> bool:
    """Take an observation in unless it is recorded already; say in it who said it. True when it was taken."""
    final = replace(settled, text=tidy(attributed(settled.text, source), MAX_TEXT_CHARS))
    if source.speaker != OWNER:
        final = replace(final, importance=min(final.importance, UNTRUSTED_IMPORTANCE))
    readable = _readable(final)
    if readable is None:
        sitting.refused.append(("not_a_note", final.text))
        return False
    # What the assistant repeats of what is known is nothing new, though it is said by another.
    bare = without_prefix(readable.text)
    if sitting.recorded.repeats(readable) or (
        bare != readable.text and sitting.recorded.repeats(readable, bare)
    ):
        sitting.refused.append(("duplicate", readable.text))
        return False
    sitting.recorded.add(readable)
    uids = candidate.uids or ((source.said.message.uid,) if source.said else ())
    sender = "" if source.speaker == OWNER else source.sender
    sitting.accepted.append(Candidate(readable, uids, sender))
    return True


def _readable(observation: Observation) -> Optional[Observation]:
    """The observation if the log gives it back as it is, else without its time (a text may begin with "PM"), else
    None."""
    if parse_line(render_line(observation)) == observation:
        return observation
    untimed = make_observation(observation.text, observation.type, observation.importance, observation.date)
    if untimed is None or untimed.text != observation.text:
        return None
    untimed = replace(observation, time="")
    return untimed if parse_line(render_line(untimed)) == untimed else None


def _salvage(
    candidate: Candidate, settled: Observation, problem: str, source: Source, sitting: _Sitting
) -> None:
    """What the model invented is not taken; what the person said in that place is."""
    sentence = _sentence_behind(settled.text, source)
    if not sentence:
        sitting.refused.append((problem, settled.text))
        return
    kept = replace(
        settled,
        text=sentence,
        type=settled.type if source.speaker == OWNER else "fact",
        importance=min(settled.importance, _MAX_SALVAGED_IMPORTANCE),
    )
    if _accept(candidate, kept, source, sitting):
        sitting.salvaged += 1


def _turned_around(text: str, source: Source) -> str:
    """ "turned_around" when the person's sentence says no and the line about it does not.

    "Deploys on Fridays" for "never deploy on Fridays" is what small models do. A line that says the same without a
    negation ("dislikes" for "does not like") is caught too, and loses only its wording to the person's.
    """
    sentence = _sentence_behind(text, source)
    return "turned_around" if features(sentence).negated and not features(text).negated else ""


def _sentence_behind(text: str, source: Source) -> str:
    """The sentence of the source message that shares most with `text`, fit for the log; "" when there is none."""
    if source.said is None or source.said.message.role != "user":
        return ""
    wanted = stems(without_prefix(text))
    best, most = "", 0
    for sentence in sentences(own_words(source.said.message.text)):
        shared = len(wanted & stems(sentence))
        if shared > most:
            best, most = sentence, shared
    best = tidy(mask_secrets(best)[0], _MAX_SALVAGED_CHARS)
    return best if best and not problem_with(best) else ""
