"""A memory of three months, and models that reflect on it well or badly, for tests of the reflector."""

from __future__ import annotations

import random
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Optional

import fake_model
import reflector
from _archive import Archived, read_archived
from _observations import parse_log
from observer_testing import Ended, Home, dated, run_here

SCRIPTS = Path(reflector.__file__).resolve().parent
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=timezone.utc)
FIRST_DAY = date(2026, 9, 1)
NOTE = re.compile(r"^(\d+)\. \[(?P<label>[^\]]*)\] (?P<text>.*)$", re.M)

PEOPLE = (
    "Anna Bruno Clara Dmitri Emeka Freya Goran Hana Ines Jakob Keiko Lars Mirela Nadia Oskar Priya".split()
)
THINGS = "bakery boat studio garden workshop clinic kiosk stall orchard bookshop gallery hostel".split()
PLACES = "Porto Lisbon Turin Ghent Malmo Graz Bergen Nantes Split Leeds Bilbao Krakow".split()


class Memory(Home):
    """A machine whose memory is reflected on."""

    def put(self, log: "str | bytes") -> None:
        """Make this the log."""
        self.memory.mkdir(parents=True, exist_ok=True)
        data = log if isinstance(log, bytes) else log.encode("utf-8", "surrogateescape")
        (self.memory / "observations.md").write_bytes(data)

    @property
    def raw(self) -> str:
        """The log with bytes that are not UTF-8 as surrogates."""
        return (self.memory / "observations.md").read_bytes().decode("utf-8", "surrogateescape")

    def archived(self) -> "list[Archived]":
        """All items of all days, in order."""
        folder = self.memory / "archive" / "reflections"
        files = sorted(folder.iterdir()) if folder.exists() else []
        texts = [path.read_bytes().decode("utf-8", "surrogateescape") for path in files]
        return [item for text in texts for item in read_archived(text)]

    def backups(self) -> "list[Path]":
        folder = self.memory / "observation-backups"
        return sorted(folder.iterdir()) if folder.exists() else []

    def reflect(self, *flags: str, now: Optional[datetime] = NOW, **environ: str) -> Ended:
        """Run the reflector in this process."""
        return run_here(lambda: reflector.main([*dated(now), *flags]), {**self.environ, **environ})

    def begin(self, *flags: str, now: Optional[datetime] = NOW, **environ: str) -> "subprocess.Popen[str]":
        """Start the reflector as a process."""
        return self.start(*flags, now=now, script="reflector.py", **environ)

    def call_reflector(self, *flags: str, now: Optional[datetime] = NOW, **environ: str) -> Ended:
        """Run the reflector as a process and wait for it."""
        return self.call(*flags, now=now, script="reflector.py", **environ)


# The log -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """One line of the made-up log: its text, type, importance, and whether it is tagged."""

    text: str
    type: str = "fact"
    importance: float = 4.0
    tagged: bool = True


def three_months(words: int = 20_000) -> str:
    """A log from 1 September to 29 November 2026 of about so many words; the same one each time."""
    dice = random.Random(11)
    days = [FIRST_DAY + timedelta(days=number) for number in range(90)]
    per_day = max(4, words // (90 * 16))
    parts = ["# Observations Log\n\nKept by hand and by Total Recall.\n\n---\n"]
    for number, day in enumerate(days):
        parts.append(f"\nDate: {day}\n\n")
        parts += [
            _render(line, day, place) for place, line in enumerate(_lines_of(day, number, per_day, dice))
        ]
        if number % 15 == 7:
            parts.append(_unknown(number))
    return "".join(parts)


def _lines_of(day: date, number: int, per_day: int, dice: random.Random) -> "list[Written]":
    lines = [_always(day, number, dice)]
    while len(lines) < per_day:
        person, thing, place = dice.choice(PEOPLE), dice.choice(THINGS), dice.choice(PLACES)
        cost = dice.randrange(20, 900)
        lines += dice.choice(
            (
                [
                    Written(f"{person} runs a {thing} in {place} near the old harbour"),
                    Written(
                        f"The {thing} that {person} runs in {place} opens at {dice.randrange(6, 11)} every day"
                    ),
                ],
                [
                    Written(f"Rent for the {thing} of {person} is {cost} euros a month"),
                    Written(
                        f"Rent for the {thing} of {person} is {cost} euros a month, {cost + 35} from now on"
                        if cost % 2
                        else f"Rent for the {thing} of {person} is {cost + 35} euros a month from now on"
                    ),
                ],
                [
                    Written(
                        f"Said hello to {person} at the {thing} and talked about the weather", "event", 1.0
                    )
                ],
                [Written(f"The {thing} in {place} had a queue again today", "context", 2.0)],
                [Written(f"{person} prefers the {thing} in {place} to all others", "preference", 5.0)],
                [
                    Written(
                        f"{person} keeps the spare key of the {thing} under the blue pot", "fact", 5.0, False
                    )
                ],
                [Written("Ran 5 km along the river before work", "event", 3.0)],
                [Written(f"{person}さんの店は{place}にあり、毎週{1 + cost % 4}回開きます")] * 2,
            )
        )
    return lines


def _always(day: date, number: int, dice: random.Random) -> Written:
    """What each day begins with: in turn something that must stay, and something that is a duplicate."""
    person = PEOPLE[number % len(PEOPLE)]
    return (
        Written(f"Never call {person} before {6 + number % 5} in the morning", "rule", 5.0),
        Written(f"Wants to visit {PLACES[number % len(PLACES)]} by bicycle number {number}", "goal", 4.0),
        Written(f"Flight {number} to {dice.choice(PLACES)} leaves on 14 February 2027", "event", 5.0),
        Written(f"{person} has moved house, box {number} holds the contract", "fact", 8.0),
        Written("The cat is called Miso and is 9 years old"),
    )[number % 5]


def _render(line: Written, day: date, place: int) -> str:
    mark = "🔴" if line.importance >= 6 else "🟡" if line.importance >= 3 else "🟢"
    clock = f"{8 + place % 12:02d}:{(place * 7) % 60:02d}"
    if not line.tagged:
        return f"- {mark} {clock} {line.text}\n"
    name = f"OBS-{day:%Y%m%d}-{place + 1:03d}"
    fields = f"dc:type={line.type} dc:importance={line.importance:g} dc:date={day} dc:id={name}"
    return f"- {mark} {clock} {line.text} <!-- {fields} -->\n"


def _unknown(number: int) -> str:
    """Lines of no known shape, a hook, and bytes that are no UTF-8."""
    return (
        f"A remark of mine, number {number}, with bytes \udcff\udc80 in it\n\n"
        f"| table | {number} |\n|---|---|\n"
        f"- **Sailing trip**: postponed (2026-09-0{number % 9 + 1}). "
        f"[ref: archive/observations/2026-09-01.md#OBS-20260901-{number:03d}]\n"
    )


# Models --------------------------------------------------------------------------------------------------------------


def notes_in(prompt: str) -> "list[tuple[int, str, str]]":
    """The notes that a question shows: (number, label, text)."""
    body = re.split(r"(?m)^=====(?:\d+=====)?$", prompt)[-2]
    return [(int(found[1]), found["label"], found["text"]) for found in NOTE.finditer(body)]


def diligent(request: fake_model.Request) -> fake_model.Reply:
    """Merges what belongs together and drops what a later note says too."""
    lines = changes_for(notes_in(request.prompt))
    return fake_model.says("\n".join(lines) or "UNCHANGED")


def changes_for(notes: "list[tuple[int, str, str]]") -> "list[str]":
    """The lines of a good answer."""
    lines: "list[str]" = []
    free = [(number, text) for number, label, text in notes if "keep" not in label]
    used: "set[int]" = set()
    rents: "dict[str, int]" = {}
    for number, text in free:
        rent = re.match(r"Rent for the \w+ of \w+ is \d+ euros a month", text)
        if rent and rent[0] != text and rent[0] in rents:
            lines.append(f"drop {rents.pop(rent[0])} by {number}")
        elif rent and rent[0] == text:
            rents[text] = number
    shops = {
        found[0]: number
        for number, text in free
        if (found := re.findall(r"^(\w+ runs a \w+ in \w+) near the old harbour$", text))
    }
    for number, text in free:
        opens = re.match(r"The (\w+) that (\w+) runs in (\w+) (opens at \d+ every day)$", text)
        if not opens:
            continue
        found = f"{opens[2]} runs a {opens[1]} in {opens[3]}"
        first = shops.get(found)
        if first and not used & {first, number}:
            used |= {first, number}
            lines.append(
                f"merge {first} {number}: The {opens[1]} near the old harbour that {opens[2]} runs in "
                f"{opens[3]} {opens[4]}"
            )
    return lines


# Checking ------------------------------------------------------------------------------------------------------------


def nothing_is_lost(before: str, memory: Memory, added: int = 0) -> None:
    """Every line of the old log is in the new one or, to the byte and under its id, in the archive, and not twice; what
    is no observation is as it was."""
    old, new = parse_log(before), parse_log(memory.raw)
    archived = memory.archived()
    texts = [[entry.raw for entry in log if entry.kind in ("hook", "heading", "other") and entry.raw.strip()]
             for log in (old, new)]  # fmt: skip
    assert texts[0] == texts[1]
    was = Counter(entry.raw for entry in old if entry.observation)
    now = Counter(entry.raw for entry in new if entry.observation)
    left = Counter(item.raw for item in archived)
    written = {row["id"] for row in memory.ledger("observed")} if archived else set()
    born = Counter(
        item.raw for item in archived if item.id in written and item.raw not in was
    )  # written by one step, gone with a later one
    missing = was - now
    assert missing == left - born
    ids = [item.id for item in archived]
    given = Counter(entry.observation.id for entry in old if entry.observation)
    assert all(ids) and all(number <= max(1, given[name]) for name, number in Counter(ids).items())
    for item in archived:
        (entry,) = [entry for entry in parse_log(f"Date: {item.date}\n{item.raw}") if entry.observation]
        assert entry.observation is not None and entry.observation.id in ("", item.id)
    rows = (
        {row["id"] for kind in ("merged", "archived") for row in memory.ledger(kind)} if archived else set()
    )
    assert rows == set(ids)
    came = [entry.observation for entry in new if entry.observation and entry.raw not in was]
    assert len(came) <= len(written) + added
