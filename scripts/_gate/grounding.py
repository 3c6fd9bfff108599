"""Whether the numbers, dates, paths and addresses of a line occur in what was said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo

from _gate.provenance import speaker_name
from _numbers import (
    FURTHEST_DAYS,
    NUMBER,
    Mention,
    Relative,
    ascii_digits,
    mentions,
    months_named,
    numbers_said,
    phone_numbers,
    readings,
    relative,
    scaled,
    short_years,
)
from _transcripts.message import Message

_LITERALS = (
    re.compile(r"[a-z][a-z0-9+.-]{1,15}://[^\s<>\"'`|，。、；）】」]+", re.I),  # addresses with a scheme
    re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}"),
    re.compile(r"(?<![\w@.])[@#][A-Za-z_][\w.-]{1,63}"),
    re.compile(r"(?<![^\s\"'(\[:=])(?:~|\.{1,2})?/[\w.@+%~-]+(?:/[\w.@+%~-]*)*"),
    re.compile(r"(?<!\w)[A-Za-z]:\\[^\s\"'<>|]+"),
    re.compile(r"(?<![\w./-])www\.[^\s<>\"']{3,200}"),
    re.compile(r"(?<![\w./-])[\w-]{1,64}(?:/[\w.-]{1,64}){1,12}\.[A-Za-z]\w{0,5}(?!\w)"),
    re.compile(r"(?<![\w./-])[\w-]{1,64}(?:\.[\w-]{1,64}){0,3}\.(?:py|md|txt|json|ya?ml|toml|sh|ts|tsx|rs|"
               r"go|java|cpp|pdf|docx?|xlsx?"
                   r"|csv|png|jpe?g|gif|svg|mp[34]|zip|gz|tar|sql|db|html?|css|conf|cfg|ini|env|log|ipynb|"
                   r"com|org|net|"
                   r"io|dev|app|de|ai)(?!\w)",
               re.I),

    re.compile(r"(?<![\w-])(?=[0-9a-fA-F]{0,63}\d)(?=[0-9a-fA-F]{0,63}[a-fA-F])[0-9a-fA-F]{7,64}(?![\w-])"),
)  # fmt: skip
_CLOCK = re.compile(
    r"(?<![\d.,:])([01]?\d|2[0-4])[:h]([0-5]\d)(?::[0-5]\d)?(?!\d)"
    r"|(?<![\d.,:])(\d\d?)\s?(?:[ap]\.?m\b\.?|uhr\b|o'clock|[点點時时시])",
    re.I,
)
_PART_OF_HOUR = re.compile(
    (
        r"(?<![^\W_])(?:half|quarter|halb|viertel|dreiviertel|demi|demie|quart|media|cuarto|mezza|quarto|meia|"
        r"half)(?![^\W_])|半|刻"
    ),
    re.I,
)
_YEARS_AWAY = re.compile(
    r"(?<![^\W\d_])(?:years?|jahre?n?|ans?|années?|años?|ann[io]|anos?|jaar|jaren|лет|года?|lata?)(?![^\W\d_])|年|년",
    re.I,
)


@dataclass(frozen=True)
class Ground:
    """What was said, ready for looking things up. `days` are the days of the messages, in the person's zone."""

    text: str
    numbers: "frozenset[str]"
    digits: "frozenset[str]"  # numbers that the texts themselves have in digits: those may be days
    dated: "frozenset[tuple[int, int, int]]"  # year, month, day; 0 is open
    months: "frozenset[int]"
    years: "frozenset[int]"
    days: "frozenset[date]"
    relatives: "tuple[Relative, ...]"
    parts_of_hour: bool

    def problem(self, text: str) -> str:
        """The reason code of the first thing in `text` that was not said; "" when everything was."""
        text = ascii_digits(text)
        for pattern in _LITERALS:
            for found in pattern.finditer(text):
                if not self._has_literal(found.group()):
                    return "ungrounded_path"
            text = pattern.sub(_blank, text)
        text, problem = self._without_dates(text)
        if problem:
            return problem
        text = _CLOCK.sub(lambda found: _blank(found) if self._has_clock(found) else found.group(), text)
        for start, end, digits in phone_numbers(text):
            if digits in self.numbers:
                text = text[:start] + " " * (end - start) + text[end:]
        return "" if self._has_numbers(text) else "ungrounded_number"

    def _has_literal(self, literal: str) -> bool:
        plain = _plain_address(literal)
        return not plain or plain in self.text

    def _without_dates(self, text: str) -> "tuple[str, str]":
        """The text with grounded dates blanked out, and "ungrounded_date" when one is left that is surely a date."""
        by_span: "dict[tuple[int, int], list[Mention]]" = {}
        for mention in mentions(text):
            by_span.setdefault((mention.start, mention.end), []).append(mention)
        for (start, end), found in by_span.items():
            if any(self.has_date(mention) for mention in found):
                text = text[:start] + " " * (end - start) + text[end:]
            elif found[0].sure and not (self._is_number(text[start:end]) and not found[0].month):
                return text, "ungrounded_date"
        return text, ""

    def _is_number(self, token: str) -> bool:
        return bool(readings(token) & self.numbers) if token.isdecimal() else False

    def has_date(self, mention: Mention) -> bool:
        """True when that date was said, is the day of a message, or can be what a relative word means."""
        wanted = (mention.year, mention.month, mention.day)
        if wanted in self.dated:
            return True
        if not mention.month:
            return mention.year in self.years
        if not mention.day:
            return self._has_month(mention)
        years = (
            [mention.year]
            if mention.year
            else sorted({day.year + step for day in self.days for step in (-1, 0, 1)})
        )
        if not mention.year and any((month, day) == wanted[1:] for _, month, day in self.dated):
            return True
        return any(self._has_day(year, mention.month, mention.day) for year in years)

    def _has_month(self, mention: Mention) -> bool:
        near = (
            not mention.year or mention.year in self.years or self._is_near(mention.year, mention.month, 15)
        )
        named = mention.month in self.months or any(day.month == mention.month for day in self.days)
        return near and (named or any(found.loose for found in self.relatives))

    def _is_near(self, year: int, month: int, day: int) -> bool:
        try:
            wanted = date(year, month, day)
        except ValueError:
            return False
        return any(abs((wanted - base).days) <= FURTHEST_DAYS for base in self.days)

    def _has_day(self, year: int, month: int, day: int) -> bool:
        try:
            wanted = date(year, month, day)
        except ValueError:
            return False
        if wanted in self.days or any(found.allows(wanted) for found in self.relatives):
            return True
        if (0, month, day) in self.dated:
            return str(year) in self.digits or self._is_near(year, month, day)
        # "In June ... on the 14th", "on the 14th"
        if str(day) not in self.digits or not self._is_near(year, month, day):
            return False
        return month in self.months or any(abs((wanted - base).days) <= 62 for base in self.days)

    def _has_clock(self, found: "re.Match[str]") -> bool:
        hour, minute = int(found[1] or found[3]), int(found[2] or 0)
        if not {str(hour), str(hour + 12), str(abs(hour - 12))} & self.numbers:
            return False
        return minute == 0 or str(minute) in self.numbers or (self.parts_of_hour and minute in (15, 30, 45))

    def _has_numbers(self, text: str) -> bool:
        if scaled(text) and scaled(text) <= self.numbers:
            return all(
                readings(token) & self.numbers or scaled(text) & self.numbers
                for token in NUMBER.findall(text)
            )
        return all(readings(token) & self.numbers for token in NUMBER.findall(text))


def read_ground(window: Sequence[Message], zone: tzinfo) -> Ground:
    """Collect the numbers, dates and words of a window once."""
    texts = [ascii_digits(message.text) for message in window]
    moments = [message.at.astimezone(zone) for message in window]
    days = frozenset(moment.date() for moment in moments)
    relatives = tuple(relative(text, moment.date()) for text, moment in zip(texts, moments))
    dates = [mention for text in texts for mention in mentions(text)]
    senders = " ".join(ascii_digits(f"{message.sender} {speaker_name(message.sender)}") for message in window)
    said = numbers_said(senders).union(*map(numbers_said, texts))
    return Ground(
        text=_plain_text("\n".join([*texts, senders])),
        numbers=frozenset(said.union(*map(_numbers_of, moments))),
        digits=frozenset(
            str(int(number)) for text in texts for number in re.findall(r"(?<!\d)\d{1,4}(?!\d)", text)
        ),
        dated=frozenset((mention.year, mention.month, mention.day) for mention in dates),
        months=frozenset({mention.month for mention in dates}.union(*map(months_named, texts))),
        years=frozenset(_years(texts, dates, days, relatives)),
        days=days,
        relatives=tuple(found for found in relatives if found.any),
        parts_of_hour=any(_PART_OF_HOUR.search(text) for text in texts),
    )


def read_notes(texts: Sequence[str], days: Iterable[date]) -> Ground:
    """The Ground of notes instead of messages: only what stands in them, and these days, counts as said."""
    texts = [ascii_digits(text) for text in texts]
    dates = [mention for text in texts for mention in mentions(text)]
    known = {(day.year, day.month, day.day) for day in days}
    return Ground(
        text=_plain_text("\n".join(texts)),
        numbers=frozenset(number for text in texts for number in numbers_said(text)),
        digits=frozenset(),
        dated=frozenset({(mention.year, mention.month, mention.day) for mention in dates} | known),
        months=frozenset(mention.month for mention in dates if mention.month),
        years=frozenset(mention.year for mention in dates if mention.year),
        days=frozenset(),
        relatives=(),
        parts_of_hour=any(_PART_OF_HOUR.search(text) for text in texts),
    )


def literals(text: str) -> "list[str]":
    """The addresses, paths and other strings of a text that are right only to the character, as they are compared."""
    return [_plain_address(found.group()) for pattern in _LITERALS for found in pattern.finditer(text)]


def _numbers_of(moment: datetime) -> "set[str]":
    """The numbers of a message's own date and time."""
    parts = (moment.year, moment.month, moment.day, moment.hour, (moment.hour + 11) % 12 + 1, moment.minute)
    return {str(part) for part in parts}


def _years(
    texts: "Sequence[str]",
    dates: "Sequence[Mention]",
    days: "frozenset[date]",
    relatives: "Sequence[Relative]",
) -> "set[int]":
    years = {mention.year for mention in dates if mention.year}
    for text in texts:
        years |= short_years(text) | {int(number) for number in re.findall(r"(?:19|20)\d\d", text)}
    years |= {day.year for day in days}
    if any(found.any for found in relatives):
        years |= {day.year + step for day in days for step in (-1, 1)}
    for text in texts:
        if _YEARS_AWAY.search(text):
            away = [int(number) for number in numbers_said(text) if number.isdecimal() and len(number) < 3]
            years |= {day.year + sign * count for day in days for count in away for sign in (-1, 1)}
    return years


def _blank(found: "re.Match[str]") -> str:
    return " " * len(found.group())


def _plain_text(text: str) -> str:
    return re.sub("[\u200b-\u200f\u2060\ufeff\u00ad*`]|\\\\(?=[_.-])", "", text).casefold()


def _plain_address(literal: str) -> str:
    plain = _plain_text(literal)
    plain = re.sub(r"^(?:https?://)?(?:www\.)?", "", plain)
    return plain.rstrip(".,;:!?)]}\"'/")
