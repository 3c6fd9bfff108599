"""Days to come that a text names, by a date or without one: "next week", "in 3 months", "by the end of the year".

Each stands for the last day that it can mean, for what is still to come must not leave too early.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Iterator
from datetime import date, timedelta

from _numbers import Mention, ascii_digits, mentions, months_named, relative, spelled

_NEXT = (
    r"(?:next|coming|upcoming|nächste[nrsm]?|kommende[nrsm]?|prochaine?s?|próxim[oa]s?|prossim[oaie]|volgende|następn\w+"
    r"|следующ\w+)"
)
_COMES = rf"(?:{_NEXT}|que viene|que vem|entrante|che viene|qui vient)"
_WEEK = r"(?:weeks?|weekend|wochen?|wochenende|semaines?|semanas?|settimana|settimane|week|weken|tygodni\w*|недел\w+)"
_MONTH = r"(?:months?|monate?n?|mois|mes|meses|mês|mese|mesi|maand|maanden|miesi[ąę]c\w*|месяц\w*)"
_YEAR = r"(?:years?|jahre?n?|ans?|années?|años?|anos?|ann[io]|jaar|rok\w*|lata?|года?|году|лет)"
_UNITS = {"week": _WEEK, "month": _MONTH, "year": _YEAR}
_AHEAD = {
    name: re.compile(rf"(?<!\w)(?:{_NEXT}\s+{unit}|{unit}\s+{_COMES})(?!\w)", re.I)
    for name, unit in _UNITS.items()
}
_AHEAD_WIDE = {
    "week": re.compile("来週|來週|下[周週]|下[个個]?(?:星期|礼拜)|다음 ?주"),
    "month": re.compile("来月|來月|下[个個]?月|다음 ?달"),
    "year": re.compile("来年|來年|明年|내년|다음 ?해"),
}
_NEXT_WORD = re.compile(rf"(?<!\w){_COMES}(?!\w)", re.I)
# How many: up to five words ("two and a half"); a half may follow ("a year and a half", "deux ans et demi").
_COUNT = r"((?:\d{1,3}(?:[.,]\d{1,2})?|[^\W\d_]{1,20})(?:[\s-]+(?:\d{1,3}|[^\W\d_]{1,20})){0,4}?)"
_AND_A_HALF = r"(\s+(?:and a half|et demie?|y medi[oa]|e mezz[oa]|e mei[oa]))?"
# What follows is looked at without being taken: of "in Berlin in two years" it is the second that tells when.
_COUNTED = {
    name: re.compile(
        r"(?<!\w)(?:in|within|over|innerhalb von|dans|en|dentro de|tra|fra|em|daqui a|za|через)(?=\s+"
        rf"(?:(?:the|den|die|les|los|las|os|as|i|le)\s+)?(?:{_NEXT}\s+)?{_COUNT}\s+{unit}{_AND_A_HALF}(?!\w))",
        re.I,
    )
    for name, unit in _UNITS.items()
}
_FROM_NOW = re.compile(r"\b(?:from (?:now|today)|hence)\b(?! on\b)", re.I)
_MOST_CHARS = 120  # before "from now"
_COUNTED_FROM_NOW = {
    name: re.compile(rf"(?<!\w){_COUNT}\s+{unit}{_AND_A_HALF}\s+$", re.I) for name, unit in _UNITS.items()
}
_COUNTED_WIDE = {
    name: re.compile(
        rf"(?<!\d)(\d{{1,3}}|[一二两兩三四五六七八九十]{{1,3}}|[半数數几幾반몇])\s?{unit}(半?)\s?(?:后|後|以?内|후|뒤)"
    )
    for name, unit in {"month": "(?:[か个個ヶケヵ]?月|개월|달)", "year": "[年년]"}.items()
}
_HALF = re.compile(r"half|halbe[nrs]?|halve|demie?|medi[oa]|mezz[oa]|mei[oa]|pół|пол|半|반")
_GERMAN_AND_A_HALF = re.compile(r"(.+?)(?:und)?einhalb\w{0,2}")
_ONE_AND_A_HALF = frozenset(
    "anderthalb anderthalbe anderthalben anderhalf anderhalve półtora полтора".split()
)
_AND = frozenset("and und et y e en i и".split())
_BETWEEN = frozenset("of to or about around bis oder etwa ca ou o à do до или".split())
_SOME = frozenset(
    """few some several paar einige einigen wenige wenigen mehrere mehreren quelques plusieurs unos unas
    algunos algunas varios varias alcuni alcune qualche pochi poche alguns algumas vários várias enkele
    kilka несколько 数 數 几 幾 몇""".split()
)
_MOST_OF_SOME = 6.0  # the most that "a few" is taken for
_END = {
    "month": re.compile(
        r"\bend of (?:the |this )?month|\bmonth[- ]end|\bende des monats|\bmonatsende|\bfin (?:de|du) mois"
        r"|\bfin de mes\b|\bfine (?:del )?mese|月末|月底|월말",
        re.I,
    ),
    "year": re.compile(
        r"\bend of (?:the |this )?year|\byear[- ]end|\bende des jahres|\bjahresende|\bfin de (?:l')?ann?ée|\bfin de año"
        r"|\bfine (?:dell')?anno|年末|年底|연말",
        re.I,
    ),
}
_YEAR_MONTH = re.compile(
    r"(?<![\d/-])(20\d\d)[-/](0?[1-9]|1[0-2])(?![\d/-])|(?<![\d/-])(0?[1-9]|1[0-2])/(20\d\d)(?!\d)"
)
_COMPACT = re.compile(r"(?<!\d)(20\d\d)(0[1-9]|1[0-2])([0-2]\d|3[01])(?!\d)")
_DAY_NAME_YEAR = re.compile(r"(?<!\d)\d\d?-([^\W\d_]{3,10})-(20\d\d)(?!\d)")
_ORDINAL = re.compile(r"\b(?:the (\d\d?)(?:st|nd|rd|th)|am (\d\d?)\.)(?!\d|\s?\w)", re.I)
_FEASTS = (
    (
        12,
        26,
        re.compile(
            r"\b(?:christmas|xmas|weihnacht\w*|noël|navidad|natale|natal|kerst)\b|クリスマス|圣诞|크리스마스",
            re.I,
        ),
    ),
    (1, 1, re.compile(r"\b(?:new year|silvester|neujahr|nouvel an|capodanno|año nuevo|ano novo)\b", re.I)),
    (4, 27, re.compile(r"\b(?:easter|ostern|pâques|pascua|pasqua|páscoa|pasen)\b", re.I)),
)
# Days that come back each year; of a birth, whose year may stand there too.
_YEARLY = re.compile(
    r"(?<!\w)(?:birthdays?|b-?day|anniversary|name day|geburtstag\w*|namenstag\w*|hochzeitstag\w*|jahrestag\w*"
    r"|anniversaire|cumpleaños|aniversario|compleanno|anniversario|aniversário|verjaardag|födelsedag\w*|fødselsdag\w*"
    r"|urodziny|rocznica|день рождения|годовщина)(?!\w)|誕生日|生日|纪念日|紀念日|記念日|생일|기념일",
    re.I,
)
_BORN = re.compile(
    r"(?<!\w)(?:born|geboren|née?|nacid[oa]|nat[oa]|nascid[oa]|urodzon[ya]|родил\w+)(?!\w)|出生|태어", re.I
)
_NEAR_CHARS = 20  # between such a word and its date
_WORD = re.compile(r"[^\W\d_]+")
# A day without a year that lies further back than this when it is said means the one to come.
_LONG_PAST_DAYS = 60
_PAST = re.compile(
    r"\b(?:was|were|did|had|went|got|came|last|since|ago|\w{3,}ed|war|wurde|hatte|hat|haben|seit|letzte\w*|ge\w{3,}t|"
    r"depuis|dernier\w*|desde|pasad[oa]|scors[oa]|passad[oa]|vorige)\b",
    re.I,
)


def names_a_day_to_come(text: str, said: date, today: date) -> bool:
    """Whether a text that was said on a day names today or a later day: a date, or what a relative word can mean."""
    return comes_every_year(text) or any(day >= today for day in days_named(text, said))


def comes_every_year(text: str) -> bool:
    """Whether a text names the day of a birthday or of another day that is always still to come."""
    text = ascii_digits(text)
    yearly, born = ([found.span() for found in one.finditer(text)] for one in (_YEARLY, _BORN))
    return any(
        mention.month and mention.day and _is_near(mention, yearly if not mention.year else born)
        for mention in mentions(text)
    )


def _is_near(mention: Mention, words: "list[tuple[int, int]]") -> bool:
    return any(
        0 <= mention.start - end <= _NEAR_CHARS or 0 <= start - mention.end <= _NEAR_CHARS
        for start, end in words
    )


def days_named(text: str, said: date) -> "list[date]":
    """The days that a text which was said on a day can mean: dates, and what relative words stand for."""
    words = relative(text, said)
    days = [_last_day(mention, said) for mention in mentions(ascii_digits(text))]
    days += [_days_after(said, offset) for offset in words.offsets if offset > 0]
    return [*days, *(_next(said, weekday) for weekday in words.weekdays), *_days_ahead(text, said)]


def _days_ahead(text: str, said: date) -> "Iterator[date]":
    """The last days that such words of a text, said on a day, can mean."""
    text = ascii_digits(text)
    yield from _units_ahead(text, said)
    yield from _ends(text, said)
    yield from _numeric(text, said)
    if not _PAST.search(text):
        yield from _named(_without_dates(text), said)


def _without_dates(text: str) -> str:
    """The text without the dates whose day or year is named, for a month that stands alone."""
    for mention in mentions(text):
        if mention.month and (mention.day or mention.year):
            text = text[: mention.start] + " " * (mention.end - mention.start) + text[mention.end :]
    return text


def _units_ahead(text: str, said: date) -> "Iterator[date]":
    for name in _UNITS:
        if _AHEAD[name].search(text) or _AHEAD_WIDE[name].search(text):
            yield _after(said, name, 1, whole=True)
        for found in _COUNTED[name].finditer(text):
            yield from _after_some(said, name, found[1], bool(found[2]))
        for found in _FROM_NOW.finditer(text):
            yield from _before(text[max(0, found.start() - _MOST_CHARS) : found.start()], said, name)
    for name, pattern in _COUNTED_WIDE.items():
        for found in pattern.finditer(text):
            yield from _after_some(said, name, found[1], bool(found[2]))
    if "fortnight" in text.casefold():
        yield said + timedelta(days=14)
    if "через полгода" in text.casefold():
        yield _after(said, "year", 0.5)
    if _NEXT_WORD.search(text) and relative(text, said).weekdays:
        yield said + timedelta(days=13)


def _before(text: str, said: date, unit: str) -> "Iterator[date]":
    """What stands at the end of a text, before "from now": of "the lab moves in two years" the "two"."""
    found = _COUNTED_FROM_NOW[unit].search(text)
    words = found[1].split() if found else []
    counts = (_how_many(" ".join(words[start:]), bool(found and found[2])) for start in range(len(words)))
    yield from (_after(said, unit, number) for number in list(filter(None, counts))[:1])


def _after_some(said: date, unit: str, words: str, and_a_half: bool) -> "Iterator[date]":
    number = _how_many(words, and_a_half)
    if number:
        yield _after(said, unit, number)


def _how_many(words: str, and_a_half: bool) -> float:
    """The most that a few words can count ("two to three", "half a", "a few"); 0.0 when one of them is no such word."""
    numbers, halved, joined = [0.0], and_a_half, and_a_half
    for word in re.findall(r"\d+(?:[.,]\d+)?|[^\W\d_]+", words.casefold()):
        compound = _GERMAN_AND_A_HALF.fullmatch(word)
        if word[0].isdecimal():
            numbers.append(float(word.replace(",", ".")))
        elif word in _SOME:
            numbers.append(_MOST_OF_SOME)
        elif word in _ONE_AND_A_HALF:
            numbers.append(1.5)
        elif _HALF.fullmatch(word):
            halved = True
        elif word in _AND:
            joined = True
        elif word not in _BETWEEN:
            values = spelled(compound[1] if compound else word)
            if not values:
                return 0.0
            numbers.append(max(map(float, values)) + (0.5 if compound else 0))
    if halved:
        return max(numbers) + 0.5 if joined else 0.5
    return max(numbers)


def _after(said: date, unit: str, number: float, whole: bool = False) -> date:
    """So many weeks, months or years on; to the end of the one that is meant when it is a `whole` one."""
    if unit == "week":
        return _days_after(said, math.ceil(7 * number) + (6 if whole else 0))
    months = math.ceil(number * (12 if unit == "year" else 1))
    years, month = divmod(said.month - 1 + months, 12)
    year, month = min(said.year + years, 9999), month + 1
    if whole and unit == "year":
        return date(year, 12, 31)
    last = calendar.monthrange(year, month)[1]
    return date(year, month, last if whole else min(said.day, last))


def _days_after(said: date, days: int) -> date:
    """So many days on; the last day of the calendar when that is beyond it."""
    return said + timedelta(days=min(days, (date.max - said).days))


def _ends(text: str, said: date) -> "Iterator[date]":
    if _END["month"].search(text):
        yield _last_of(said.year, said.month)
    if _END["year"].search(text):
        yield date(said.year, 12, 31)


def _numeric(text: str, said: date) -> "Iterator[date]":
    for found in _YEAR_MONTH.finditer(text):
        yield _last_of(int(found[1] or found[4]), int(found[2] or found[3]))
    for found in _COMPACT.finditer(text):
        yield _last_of(int(found[1]), int(found[2]))
    for found in _DAY_NAME_YEAR.finditer(text):
        for month in months_named(found[1]):
            yield _last_of(int(found[2]), month)
    for found in _ORDINAL.finditer(text):
        day = int(found[1] or found[2])
        if 1 <= day <= 31:
            near = said if day >= said.day else _after(said, "month", 1)
            yield near.replace(day=min(day, calendar.monthrange(near.year, near.month)[1]))


def _named(text: str, said: date) -> "Iterator[date]":
    for match in _WORD.finditer(text):
        month = next(iter(months_named(match.group())), 0)
        # "may", "set", "out" are words too: a short name counts with a capital, and not where a sentence begins.
        short = len(match.group()) < 4
        if month and not (short and (not match.group()[0].isupper() or match.start() == 0)):
            yield _last_of(said.year + (month < said.month), month)
    for month, day, pattern in _FEASTS:
        if pattern.search(text):
            found = date(said.year, month, day)
            yield found if found >= said else date(said.year + 1, month, day)


def _last_of(year: int, month: int) -> date:
    return date(year, month, calendar.monthrange(year, month)[1])


def _last_day(mention: Mention, said: date) -> date:
    """The last day that a mention can mean; of a bare year the first, or all that names this year would stay."""
    if not mention.month:
        return date(mention.year, 1, 1)
    year = mention.year or _year_meant(mention, said)
    last = calendar.monthrange(year, mention.month)[1]
    return date(year, mention.month, min(mention.day or last, last))


def _year_meant(mention: Mention, said: date) -> int:
    """The year of a day that was named without one: this year's, or next year's when that is long past."""
    days_before = (said.month - mention.month) * 30.4 + said.day - (mention.day or 15)
    return said.year + 1 if days_before > _LONG_PAST_DAYS else said.year


def _next(said: date, weekday: int) -> date:
    """The first such weekday after the day on which it was said."""
    return said + timedelta(days=(weekday - said.weekday() - 1) % 7 + 1)
