"""A memory of 2,000 observations over six months, the same one each time, and what a night must not do to it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, timedelta

from dream_testing import Dream
from reflect_testing import PEOPLE, PLACES, THINGS

LAST_DAY = date(2026, 11, 29)
FIRST_DAY = LAST_DAY - timedelta(days=182)
STORIES = (
    ("kitchen renovation", ("plumber", "sink", "tiles", "oven", "worktop", "drain")),
    ("sailing course", ("knots", "harbour", "instructor", "compass", "regatta", "mast")),
    ("tax return", ("receipts", "advisor", "deadline", "refund", "donations", "portal")),
    ("garden shed", ("timber", "roof", "permit", "paint", "hinges", "gravel")),
    ("choir concert", ("rehearsal", "soprano", "tickets", "church", "programme", "encore")),
    ("bicycle trip", ("ferry", "tent", "route", "puncture", "campsite", "headwind")),
)
# Short stories of four lines within a few days, each about a thing of its own.
SUBJECTS = "piano loom canoe kiln trombone beehive microscope sundial gramophone periscope harp anvil".split()


@dataclass(frozen=True)
class Line:
    """One line of the made-up log, and why it must stay ("" when it may go)."""

    text: str
    type: str
    importance: float
    stays: str = ""
    more: str = ""


def six_months(count: int = 2_000) -> str:
    """The log. One line in twenty must stay; the others are of all types and weights, alike or not, in two scripts."""
    dice = random.Random(4)
    lines = [_line(number, dice) for number in range(count)]
    days = 183
    parts = ["# Observations Log\n\nWritten by Total Recall.\n\n---\n"]
    for number in range(days):
        day = FIRST_DAY + timedelta(days=number)
        mine = lines[number * count // days : (number + 1) * count // days]
        parts.append(f"\nDate: {day}\n\n")
        parts += [_render(line, day, place) for place, line in enumerate(mine, start=1)]
        if number % 30 == 9:
            parts.append("\nA remark of mine that is no observation\n")
    return "".join(parts)


def _line(number: int, dice: random.Random) -> Line:
    if number % 20 == 0:
        return _staying(number // 20)
    if number % 25 in (3, 9, 14, 21):
        return _told_in_parts(number // 25, number % 25)
    person, thing, place = dice.choice(PEOPLE), dice.choice(THINGS), dice.choice(PLACES)
    weight = dice.randrange(5, 89) / 10
    story, parts = STORIES[number * len(STORIES) // 2_000 % len(STORIES)]
    one, other = dice.sample(parts, 2)
    return dice.choice(
        (
            Line(f"The {story} of {person}: the {one} came after the {other}", "event", weight),
            Line(f"{person} is busy with the {story} and the {one} in {place}", "context", weight),
            Line(f"{person} keeps the {one} for the {story} in the {thing}", "fact", weight),
            Line(
                f"{person} prefers the {thing} in {place} to the one in {dice.choice(PLACES)}",
                "preference",
                weight,
            ),
            Line(f"{person} cleans the {thing} every Saturday before the {one} arrives", "habit", weight),
            Line(
                f"{person} paid {dice.randrange(20, 900)} euros for the {one} of the {thing}", "fact", weight
            ),
            Line(f"{person}さんは{place}の{one}を毎週{dice.randrange(1, 7)}回見に行きます", "fact", weight),
            Line(f"{person}在{place}买了{thing}和{one}", "event", weight),
            Line("The cat sleeps in the blue basket by the window", "fact", 4.0),
        )
    )


def _told_in_parts(number: int, part: int) -> Line:
    """One of four lines about the same thing."""
    thing, owner = (
        SUBJECTS[number % len(SUBJECTS)],
        f"{PEOPLE[number % len(PEOPLE)]} {PLACES[number // 7 % len(PLACES)]}",
    )
    said = {
        3: f"The {thing} of {owner} has a crack along the left side",
        9: f"{owner} looks for somebody who mends the crack of the {thing}",
        14: f"A workshop in the old mill mends the {thing} of {owner}",
        21: f"The {thing} of {owner} is back from the workshop and sounds as new",
    }
    return Line(said[part], "fact", 7.5)


def _staying(number: int) -> Line:
    """What must stay: in turn critical, a rule, a goal, with a day to come, and never to go."""
    person, thing = PEOPLE[number % len(PEOPLE)], THINGS[number % len(THINGS)]
    return (
        Line(f"{person} is allergic to penicillin, card number {number}", "fact", 9.5, "critical"),
        Line(f"Never phone {person} about the {thing} before noon", "rule", 4.0, "rule"),
        Line(f"Wants to open a {thing} with {person} one day", "goal", 3.0, "goal"),
        Line(f"Ferry {number} to the {thing} of {person} leaves on 14 March 2027", "event", 5.0, "future"),
        Line(f"The blood group of {person} is on card {number}", "fact", 2.0, "never", " dc:ttl=never"),
    )[number % 5]


def _render(line: Line, day: date, place: int) -> str:
    mark = "🔴" if line.importance >= 6 else "🟡" if line.importance >= 3 else "🟢"
    fields = f"dc:type={line.type} dc:importance={line.importance:g} dc:date={day} dc:id=OBS-{day:%Y%m%d}-{place:03d}"
    return f"- {mark} {7 + place % 14:02d}:{place * 7 % 60:02d} {line.text} <!-- {fields}{line.more} -->\n"


def staying_lines(log: str) -> "list[str]":
    """The ids of the lines that must stay, told by their words alone."""
    signs = ("allergic to penicillin", "Never phone", "Wants to open", "14 March 2027", "The blood group")
    return [
        line.split("dc:id=")[1].split()[0] for line in log.splitlines() if any(sign in line for sign in signs)
    ]


class Night(Dream):
    """A memory that whole nights work on."""

    def put_with_ledger(self, log: str) -> None:
        """Make this the log, and have every line of it known to the ledger."""
        self.put(log)
        assert self.night("account", "--accept").code == 0
