"""Dates that a text names, in the usual spellings of several languages, and what relative words can stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from _numbers.numerals import spelled

FURTHEST_DAYS = 400  # "next year in spring" is at most about that far away
_WEEKDAY_DAYS = 28  # "Friday in three weeks"

_MONTHS = (
    "january jan januar jänner janvier enero ene gennaio gen janeiro januari styczeń stycznia января январь",
    "february feb februar février fév febrero febbraio fevereiro fev februari luty lutego февраля февраль",
    "march mar märz mär mrz mars marzo março maart marzec marca марта март",
    "april apr avril avr abril abr aprile kwiecień kwietnia апреля апрель",
    "may mai mayo maggio mag maio mei maj maja мая май",
    "june jun juni juin junio giugno giu junho czerwiec czerwca июня июнь",
    "july jul juli juillet juil julio luglio lug julho lipiec lipca июля июль",
    "august aug août aout agosto ago augustus sierpień sierpnia августа август",
    "september sep sept septembre septiembre settembre set setembro wrzesień września сентября сентябрь",
    "october oct oktober okt octobre octubre ottobre ott outubro out październik października октября октябрь",
    "november nov novembre noviembre novembro listopad listopada ноября ноябрь",
    "december dec dezember dez décembre déc diciembre dic dicembre dezembro grudzień grudnia декабря декабрь",
)
_MONTH = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_MONTH_WORD = re.compile(rf"(?<![^\W_])({_NAMES})(?![^\W_])", re.I)
_YEAR = r"(?:19|20)\d\d"
_ISO = re.compile(rf"(?<![\d.-])({_YEAR})([-/.])(\d\d?)\2(\d\d?)(?!\d)")
_NUMERIC = re.compile(rf"(?<![\d.,/-])(\d\d?)([./-])(\d\d?)\2({_YEAR}|\d\d)(?!\d|[./-]\d)")
_SHORT = re.compile(r"(?<![\d.,/-])(\d\d?)(?:\.(\d\d?)\.|/(\d\d?))(?![\d/])")
_DAY_MONTH = re.compile(
    (
        rf"(?<![\d.,])(\d\d?)(?:st|nd|rd|th|er|º|\.)?[ ]?(?:of |de |d'|day of "
        rf")?(?<![^\W\d_])({_NAMES})\.?(?![^\W_])(?:,?[ ](?:de |del )?({_YEAR}))?"
    ),
    re.I,
)
_MONTH_DAY = re.compile(
    rf"(?<![^\W_])({_NAMES})\.?[ ](?:the )?(\d\d?)(?:st|nd|rd|th)?(?![\d:.,]\d|\d)(?:,?[ ]({_YEAR})(?!\d))?",
    re.I,
)
_MONTH_YEAR = re.compile(rf"(?<![^\W_])({_NAMES})\.?,?[ ](?:de |of |del )?({_YEAR})(?!\d)", re.I)
_WIDE = re.compile(
    rf"(?:({_YEAR})\s?[年년]\s?)?(?<!\d)(\d\d?)\s?[月월](?:\s?(\d\d?)\s?[日号號일])?|({_YEAR})\s?[年년]"
)
_BARE_YEAR = re.compile(rf"(?<![\d.,'’/-])({_YEAR})(?![\d]|[.,]\d)")
_SHORT_YEAR = re.compile(r"['’](\d\d)(?!\d)|(?<!\d)(\d\d)er\b")


@dataclass(frozen=True)
class Mention:
    """A date as a text names it; what it leaves open is 0. `sure` is false for what may be a number ("1/2")."""

    start: int
    end: int
    year: int = 0
    month: int = 0
    day: int = 0
    sure: bool = True


def mentions(text: str) -> "list[Mention]":
    """The dates in a text, whose digits are ASCII, from left to right. "3/4/2026" gives both of its readings."""
    found: "list[Mention]" = []
    taken: "set[int]" = set()

    def add(match: "re.Match[str]", readings: "Iterable[tuple[int, int, int]]", sure: bool = True) -> None:
        if taken.intersection(range(*match.span())):
            return
        kept = [reading for reading in readings if _exists(*reading)]
        found.extend(Mention(*match.span(), *reading, sure=sure) for reading in kept)
        if kept:
            taken.update(range(*match.span()))

    for match in _ISO.finditer(text):
        add(match, [(int(match[1]), int(match[3]), int(match[4]))])
    for match in _NUMERIC.finditer(text):
        year = int(match[4]) if len(match[4]) == 4 else 2000 + int(match[4])
        a, b = int(match[1]), int(match[3])
        add(match, {(year, b, a), (year, a, b)}, sure=len(match[4]) == 4)
    for match in _DAY_MONTH.finditer(text):
        add(match, [(int(match[3] or 0), _MONTH[match[2].lower()], int(match[1]))])
    for match in _MONTH_DAY.finditer(text):
        add(match, [(int(match[3] or 0), _MONTH[match[1].lower()], int(match[2]))])
    for match in _MONTH_YEAR.finditer(text):
        add(match, [(int(match[2]), _MONTH[match[1].lower()], 0)])
    for match in _WIDE.finditer(text):
        add(match, [(int(match[1] or match[4] or 0), int(match[2] or 0), int(match[3] or 0))])
    for match in _SHORT.finditer(text):
        a, b = int(match[1]), int(match[2] or match[3])
        add(match, {(0, b, a), (0, a, b)}, sure=False)
    for match in _BARE_YEAR.finditer(text):
        add(match, [(int(match[1]), 0, 0)])
    return sorted(found, key=lambda mention: mention.start)


def _exists(year: int, month: int, day: int) -> bool:
    if not month:
        return bool(year)
    if not 1 <= month <= 12:
        return False
    try:
        date(year or 2024, month, day or 1)  # 2024 has a 29 February
    except ValueError:
        return False
    return True


def months_named(text: str) -> "set[int]":
    """Numbers of the months that a text names in words."""
    return {_MONTH[name.lower()] for name in _MONTH_WORD.findall(text)}


def short_years(text: str) -> "set[int]":
    """ "'98" and "98er" as 1998; both centuries."""
    digits = {int(a or b) for a, b in _SHORT_YEAR.findall(text)}
    return {century + number for number in digits for century in (1900, 2000)}


# Relative words ---------------------------------------------------------------------------------------------------

_DAY_WORDS = {
    0: "today tonight heute hoy oggi hoje aujourd'hui vandaag dziś dzisiaj сегодня 今天 今日 今晚 今夜 今朝 오늘",
    1: "tomorrow tmrw tmr morgen demain mañana domani amanhã jutro завтра 明天 明日 あした 내일",
    -1: "yesterday gestern hier ayer ieri ontem gisteren wczoraj вчера 昨天 昨日 어제",
    2: "overmorrow übermorgen après-demain dopodomani overmorgen pojutrze послезавтра 后天 後天 明後日 あさって 모레",
    -2: "vorgestern avant-hier anteayer anteontem eergisteren 前天 一昨日 おととい",
}
_DAY_PHRASES = {
    2: ("day after tomorrow", "pasado mañana", "depois de amanhã"),
    -2: ("day before yesterday",),
    -1: ("last night",),
}
_WEEKDAYS = (
    "monday mondays montag montags lundi lunes lunedì segunda maandag poniedziałek понедельник 周一 星期一 "
    "礼拜一 月曜 월요일",
    "tuesday tuesdays dienstag dienstags mardi martes martedì terça dinsdag wtorek вторник 周二 星期二 "
    "礼拜二 火曜 화요일",
    (
        "wednesday wednesdays mittwoch mittwochs mercredi miércoles mercoledì quarta woensdag środa среду "
        "周三 星期三 礼拜三 "
        "水曜 수요일"
    ),
    (
        "thursday thursdays donnerstag donnerstags jeudi jueves giovedì quinta donderdag czwartek четверг "
        "周四 星期四 礼拜四 "
        "木曜 목요일"
    ),
    "friday fridays freitag freitags vendredi viernes venerdì sexta vrijdag piątek пятницу 周五 星期五 "
    "礼拜五 金曜 금요일",
    "saturday saturdays samstag samstags sonnabend samedi sábado sabato zaterdag sobota субботу 周六 星期六 "
    "礼拜六 土曜 토요일",
    "sunday sundays sonntag sonntags dimanche domingo domenica zondag niedziela воскресенье 周日 周天 "
    "星期日 星期天 礼拜天 日曜 일요일",
)
_LOOSE = (
    "next last coming upcoming previous week weeks month months year years weekend fortnight soon later ago spring "
    "summer autumn fall "
    "winter christmas easter thanksgiving halloween new-year's nächste nächsten nächster nächstes nächste letzte "
    "letzten letzter letztes "
    "kommende kommenden woche wochen monat monate monaten jahr jahre jahren wochenende weihnachten ostern frühling "
    "sommer herbst "
    "silvester prochain prochaine dernier dernière semaine semaines mois an ans année noël pâques été hiver "
    "próximo próxima pasado "
    "pasada semana semanas mes meses año años navidad verano invierno prossimo prossima scorso scorsa settimana "
    "settimane mese mesi "
    "anno anni natale estate passado passada mês ano anos natal volgende vorige week weken maand maanden jaar "
    "jaren birthday geburtstag "
    "anniversary неделе неделю месяце месяц году год lata rok roku miesiąc tydzień"
)
_LOOSE_WIDE = re.compile(
    "[下上来來先这這今去明]个?[周週月年]|[个個ヶか]月|[週周]間?[后後前]|[年月][后後前底末初]|周末|週末|다음|"
    "지난|개월|[주달년] ?(?:후|전)"
)
_UNITS = {
    "day": 1, "days": 1, "tag": 1, "tage": 1, "tagen": 1, "jour": 1, "jours": 1, "día": 1, "días": 1, "giorno": 1,
        "giorni": 1,
    "dia": 1, "dias": 1, "dag": 1, "dagen": 1, "dni": 1, "天": 1, "日": 1, "일": 1,
    "week": 7, "weeks": 7, "woche": 7, "wochen": 7, "semaine": 7, "semaines": 7, "semana": 7, "semanas": 7,
        "settimana": 7,
    "settimane": 7, "weken": 7, "周": 7, "週": 7, "週間": 7, "个星期": 7, "個星期": 7,
}  # fmt: skip
_COUNTED = re.compile(
    r"(\d{1,3}|[^\W\d_]{1,16}|[一二两三四五六七八九十]{1,3})[ ]?("
    + "|".join(sorted(_UNITS, key=len, reverse=True))
    + r")(?![a-zà-ÿ])"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def _by_word(table: "Iterable[tuple[int, str]]") -> "dict[str, int]":
    return {word: value for value, words in table for word in words.split()}


_OFFSETS = _by_word(_DAY_WORDS.items())
_WEEKDAY = _by_word(enumerate(_WEEKDAYS))
_WIDE_OFFSETS = {word: value for word, value in _OFFSETS.items() if ord(word[0]) > 0x2E80}
_WIDE_WEEKDAYS = {word: value for word, value in _WEEKDAY.items() if ord(word[0]) > 0x2E80}
_LOOSE_WORDS = frozenset(_LOOSE.split())


@dataclass(frozen=True)
class Relative:
    """What the relative words of a message said on `day` can mean: these days, these weekdays, or anything near."""

    day: date
    offsets: "frozenset[int]"
    weekdays: "frozenset[int]"
    loose: bool

    @property
    def any(self) -> bool:
        return bool(self.loose or self.weekdays or self.offsets)

    def allows(self, wanted: date) -> bool:
        """True when a relative word of this message can mean that day."""
        distance = (wanted - self.day).days
        if distance in self.offsets or (self.loose and abs(distance) <= FURTHEST_DAYS):
            return True
        return wanted.weekday() in self.weekdays and abs(distance) <= _WEEKDAY_DAYS


def relative(text: str, day: date) -> Relative:
    """Read the relative words of a message that was said on `day` (in the person's zone)."""
    lowered = text.casefold().replace("’", "'")
    words = set(_WORD.findall(lowered))
    offsets = {_OFFSETS[word] for word in words if word in _OFFSETS}
    weekdays = {_WEEKDAY[word] for word in words if word in _WEEKDAY}
    for distance, phrases in _DAY_PHRASES.items():
        if any(phrase in lowered for phrase in phrases):
            offsets.add(distance)
    if not lowered.isascii():
        offsets |= {value for word, value in _WIDE_OFFSETS.items() if word in lowered}
        weekdays |= {value for word, value in _WIDE_WEEKDAYS.items() if word in lowered}
    for number, unit in _COUNTED.findall(lowered):
        for value in [number] if number.isdecimal() else spelled(number):
            offsets |= {int(value) * _UNITS[unit], -int(value) * _UNITS[unit]}
    lowered = _COUNTED.sub(_unless_counted, lowered)
    loose = bool(_LOOSE_WORDS.intersection(_WORD.findall(lowered))) or bool(_LOOSE_WIDE.search(lowered))
    return Relative(day, frozenset(offsets), frozenset(weekdays), loose)


def _unless_counted(found: "re.Match[str]") -> str:
    """ "3 weeks" is exact, "last weeks" is not."""
    return " " if found[1].isdecimal() or spelled(found[1]) else found.group()


def is_calendar_word(word: str) -> bool:
    """True for names of months and weekdays, and words such as "Christmas"."""
    word = word.casefold()
    return word in _MONTH or word in _WEEKDAY or word in _LOOSE_WORDS


def has_relative_words(text: str) -> bool:
    """True when the meaning of a text depends on the day on which it is said."""
    found = relative(text, date(2000, 1, 1))
    return found.any


def names_a_day(text: str) -> bool:
    """True when a text holds a day of a month: the same words on another day mean the same."""
    return any(mention.month and mention.day and mention.sure for mention in mentions(text))
