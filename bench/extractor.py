#!/usr/bin/env python3
"""How much of what people later ask about the built-in extractor keeps, and at what size.

    bench/extractor.py [LOCOMO.json]

Reads LoCoMo conversations (snap-research; default: ../shared/locomo/locomo-first3.json beside this repository) as an
observer would: each of their sessions is one window. A question counts when words of its answer stand in the turns that
answer it; kept is the share of those words in memory lines that come from such a turn (60 % of the line's content words
occur in it), averaged over the questions. Share is the memory's words against the conversation's. Two baselines run at
the same size: sentences drawn at random with a fixed seed, and the longest sentences.

Prints one line a conversation and the mean. Exit code: 0 the mean keeps at least 0.62 with at most 0.20 of the words
and none has over 0.21, 1 it does not, 2 wrong usage, 3 no such file.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Optional

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from _extract import extract  # noqa: E402
from _transcripts.message import Cursor, Message  # noqa: E402

DEFAULT = ROOT.parent / "shared" / "locomo" / "locomo-first3.json"
KEPT_AT_LEAST, SHARE_AT_MOST, ANY_SHARE_AT_MOST = 0.62, 0.20, 0.21
UNANSWERABLE = 5  # category
FROM_A_TURN = 0.6
SEED = 20

_WORD = re.compile(r"[a-z0-9']+")
# The words that do not count, as in the definition of the measure.
_STOP = frozenset(
    "the a an and or but if to of in on at for with from by is are was were be been am i you he she it we "
    "they my your his her its "
    "our their this that these those so just really very too also have has had do does did will would can "
    "could should not no yes "
    "what when where who how why me him them us there here as about into up out get got go going went "
    "like know think s t m re ve "
    "ll d".split()
)  # fmt: skip


@dataclass(frozen=True)
class Turn:
    id: str
    speaker: str
    text: str
    at: datetime

    @property
    def line(self) -> str:
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True)
class Measure:
    """`kept` and `share` run from 0 to 1; `lines` counts memory lines."""

    kept: float
    share: float
    lines: int


def sessions_of(conversation: "Mapping[str, Any]") -> "list[list[Turn]]":
    """The turns of each session in order, a minute apart from its date on."""
    found = []
    keys = [key for key in conversation if re.fullmatch(r"session_\d+", key)]
    for key in sorted(keys, key=lambda name: int(name.split("_")[1])):
        start = datetime.strptime(conversation[key + "_date_time"].strip(), "%I:%M %p on %d %B, %Y")
        start = start.replace(tzinfo=timezone.utc)
        found.append(
            [
                Turn(turn["dia_id"], turn["speaker"], turn["text"], start + timedelta(minutes=place))
                for place, turn in enumerate(conversation[key])
            ]
        )
    return found


def message_of(turn: Turn, place: int) -> Message:
    """The turn as a message of a group chat."""
    cursor = Cursor("jsonl", "bench", place)
    return Message(
        "bench", "agent:main:bench:group:0", turn.id, turn.id, "user", turn.line, turn.at, "", False, cursor
    )


def extracted(sessions: "Sequence[Sequence[Turn]]") -> "list[str]":
    """The memory lines of the extractor, each session being one window."""
    lines = []
    for turns in sessions:
        window = [message_of(turn, place) for place, turn in enumerate(turns)]
        lines += [candidate.observation.text for candidate in extract(window, timezone.utc)]
    return lines


def sentences_of(sessions: "Sequence[Sequence[Turn]]") -> "list[str]":
    """Every sentence with its speaker in front."""
    return [
        f"{turn.speaker}: {sentence}"
        for turns in sessions
        for turn in turns
        for sentence in re.split(r"(?<=[.!?])\s+", turn.text)
        if sentence.strip()
    ]


def up_to(lines: "Sequence[str]", words: int) -> "list[str]":
    """The first lines that fit into so many words."""
    kept = []
    for line in lines:
        size = len(line.split())
        if size <= words:
            kept.append(line)
            words -= size
    return kept


def content(text: str) -> "frozenset[str]":
    return frozenset(word for word in _WORD.findall(text.lower()) if word not in _STOP)


def measure(
    sessions: "Sequence[Sequence[Turn]]", questions: "Sequence[Mapping[str, Any]]", lines: "Sequence[str]"
) -> Measure:
    """Score memory lines against the questions of their conversation."""
    turns = {turn.id: turn for one in sessions for turn in one}
    said = {name: content(turn.line) for name, turn in turns.items()}
    remembered = [content(line) for line in lines]
    kept = {
        name: frozenset().union(
            *(line for line in remembered if line and len(line & words) >= FROM_A_TURN * len(line))
        )
        for name, words in said.items()
    }
    scores = [score for question in questions for score in _score(question, said, kept)]
    size = sum(len(line.split()) for line in lines)
    return Measure(
        sum(scores) / max(1, len(scores)),
        size / sum(len(turn.line.split()) for turn in turns.values()),
        len(lines),
    )


def _score(
    question: "Mapping[str, Any]", said: "Mapping[str, frozenset[str]]", kept: "Mapping[str, frozenset[str]]"
) -> Iterator[float]:
    """The share of the answer's words that are kept; nothing for a question that cannot be scored."""
    evidence = [name for name in question.get("evidence", []) if name in said]
    if question["category"] == UNANSWERABLE or not evidence:
        return
    needed = content(str(question.get("answer", ""))).intersection(
        frozenset().union(*(said[name] for name in evidence))
    )
    if needed:
        yield len(needed.intersection(frozenset().union(*(kept[name] for name in evidence)))) / len(needed)


def bench(data: "Sequence[Mapping[str, Any]]") -> "list[tuple[Measure, Measure, Measure]]":
    """The extractor, random sentences and the longest sentences, for each conversation."""
    found = []
    for entry in data:
        sessions, questions = sessions_of(entry["conversation"]), entry["qa"]
        lines = extracted(sessions)
        words = sum(len(line.split()) for line in lines)
        every = sentences_of(sessions)
        shuffled = random.Random(SEED).sample(every, len(every))
        longest = sorted(every, key=lambda line: -len(line.split()))
        found.append(
            (
                measure(sessions, questions, lines),
                measure(sessions, questions, up_to(shuffled, words)),
                measure(sessions, questions, up_to(longest, words)),
            )
        )
    return found


def mean(measures: "Sequence[Measure]") -> Measure:
    count = max(1, len(measures))
    return Measure(
        sum(one.kept for one in measures) / count,
        sum(one.share for one in measures) / count,
        round(sum(one.lines for one in measures) / count),
    )


def show(name: str, ours: Measure, chance: Measure, longest: Measure) -> None:
    ratio = f"{ours.kept / chance.kept:.1f}" if chance.kept else "-"
    print(
        f"{name}: answer_words_kept {ours.kept:.3f}, memory_words_share {ours.share:.3f}, lines "
        f"{ours.lines}; "
        f"random {chance.kept:.3f} at {chance.share:.3f}, longest {longest.kept:.3f} at "
        f"{longest.share:.3f}; {ratio} times random"
    )


def main(argv: "Optional[Sequence[str]]" = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print("usage: bench/extractor.py [LOCOMO.json]", file=sys.stderr)
        return 2
    path = Path(arguments[0]) if arguments else DEFAULT
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        print(
            f"{path} is not there. Name a LoCoMo file (locomo10.json of github.com/snap-research/locomo, "
            f"or a part of it): "
            "python3 bench/extractor.py LOCOMO.json",
            file=sys.stderr,
        )
        return 3
    start = time.perf_counter()
    results = bench(data)
    for number, (ours, chance, longest) in enumerate(results):
        show(f"conversation {number}", ours, chance, longest)
    average = [mean([result[column] for result in results]) for column in range(3)]
    show("mean", *average)
    print(f"{time.perf_counter() - start:.1f} s")
    small = average[0].share <= SHARE_AT_MOST and all(
        ours.share <= ANY_SHARE_AT_MOST for ours, _, _ in results
    )
    print(
        f"required: answer_words_kept {KEPT_AT_LEAST} at memory_words_share {SHARE_AT_MOST} (any one "
        f"{ANY_SHARE_AT_MOST})"
    )
    return 0 if small and average[0].kept >= KEPT_AT_LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
