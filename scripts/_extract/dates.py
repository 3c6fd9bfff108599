"""Relative days made absolute where there is no doubt: "tomorrow" becomes "tomorrow (2026-12-01)".

Left alone, because people mean different days by them: "next Friday", "last Friday", "in two weeks", anything said
between midnight and four in the morning, and words that also mean "morning" where they do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache

NIGHT_ENDS_AT = 4  # o'clock: before it, "tomorrow" may mean after the next sleep

# Days from today. Longer expressions stand in the pattern first, so that "the day after tomorrow" wins over "tomorrow".
DAYS: "Mapping[str, Mapping[str, int]]" = {
    "en": {"day after tomorrow": 2, "day before yesterday": -2, "tomorrow": 1, "yesterday": -1},
    "de": {"übermorgen": 2, "vorgestern": -2, "morgen": 1, "gestern": -1},
    "fr": {"après-demain": 2, "avant-hier": -2, "demain": 1, "hier": -1},
    "es": {"pasado mañana": 2, "anteayer": -2, "antes de ayer": -2, "mañana": 1, "ayer": -1},
    "pt": {"depois de amanhã": 2, "anteontem": -2, "amanhã": 1, "ontem": -1},
    "it": {"dopodomani": 2, "l'altro ieri": -2, "domani": 1, "ieri": -1},
    "nl": {"overmorgen": 2, "eergisteren": -2, "morgen": 1, "gisteren": -1},
    "pl": {"pojutrze": 2, "przedwczoraj": -2, "jutro": 1, "wczoraj": -1},
    "tr": {"evvelsi gün": -2, "yarın": 1, "dün": -1},
    "ru": {"послезавтра": 2, "позавчера": -2, "завтра": 1, "вчера": -1},
    "zh": {"大后天": 3, "大後天": 3, "大前天": -3, "后天": 2, "後天": 2, "前天": -2, "明天": 1, "昨天": -1},
    "ja": {"明後日": 2, "あさって": 2, "一昨日": -2, "おととい": -2, "明日": 1, "昨日": -1},
    "ko": {"내일모레": 2, "모레": 2, "그저께": -2, "내일": 1, "어제": -1},
}
# What stands before such a word when it means something else ("am Morgen", "por la mañana", "feels like yesterday").
NOT_AFTER: "Mapping[str, str]" = {
    "en": r"\b(?:like|of|better|from|ago|like just|like only|like it was|like it was just|as if it was)\s$",
    "de": r"\b(?:heute|gestern|guten|jeden|am|vom|zum|diesen|dieser|der|den|dem|einem|eines|nächsten|"
    r"letzten|frühen|früh am)\s$",
    "es": r"\b(?:la|las|esta|cada|una|de|toda|media|buena)\s$",
    "it": r"\b(?:un|il|del)\s$",
    "nl": r"\b(?:goede|elke|iedere|de|deze|'s|in de|op een|volgende)\s$",
    "zh": r"先天$",
    "ja": r"[一]$",
}
NOT_BEFORE: "Mapping[str, str]" = {
    "en": r"['’]|\s(?:week|never)\b",
    "de": r"\s?(?:mantel|stunde|land)|s\b",
    "zh": r"性|努力",
    "ja": r"[香菜美葉海]",
}
_SMALL = {
    "en": "two three four five six seven eight nine ten",
    "de": "zwei drei vier fünf sechs sieben acht neun zehn",
    "fr": "deux trois quatre cinq six sept huit neuf dix",
    "es": "dos tres cuatro cinco seis siete ocho nueve diez",
    "pt": "dois três quatro cinco seis sete oito nove dez",
    "it": "due tre quattro cinque sei sette otto nove dieci",
    "nl": "twee drie vier vijf zes zeven acht negen tien",
}
# "N" stands for the number of days. Only forms that always mean counting from today.
COUNTED: "Mapping[str, tuple[tuple[str, int], ...]]" = {
    "en": ((r"N days ago", -1), (r"N days from (?:now|today)", 1)),
    "de": ((r"vor N Tagen", -1),),
    "fr": ((r"il y a N jours(?! (?:de|pour|dans|par)\b)", -1), (r"dans N jours", 1)),
    "es": ((r"hace N días", -1), (r"dentro de N días", 1)),
    "pt": ((r"há N dias(?! (?:de|para|por)\b)", -1), (r"N dias atrás", -1), (r"daqui a N dias", 1)),
    "it": ((r"N giorni fa", -1), (r"[ft]ra N giorni", 1)),
    "nl": ((r"N dagen geleden", -1), (r"over N dagen", 1)),
    "pl": ((r"N dni temu", -1),),
    "tr": ((r"N gün önce", -1),),
    "ru": ((r"N (?:дня|дней) назад", -1),),
    "zh": ((r"^N ?天前", -1),),
    "ja": ((r"^N日前に", -1),),
    "ko": ((r"^N일 전에", -1),),
}
# The same of what lies ahead; of what is over they mean how long it took ("done in 3 days").
AHEAD: "Mapping[str, tuple[tuple[str, int], ...]]" = {
    "en": ((r"in N days", 1),),
    "de": ((r"in N Tagen", 1),),
    "es": ((r"en N días", 1),),
    "pt": ((r"em N dias", 1),),
}
_MONDAY_FIRST = {
    "en": "monday tuesday wednesday thursday friday saturday sunday",
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "it": "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "nl": "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    "zh": "一 二 三 四 五 六",
    "ja": "月曜 火曜 水曜 木曜 金曜 土曜",
    "ko": "월요일 화요일 수요일 목요일 금요일 토요일",
}
# "W" stands for the weekday; the number says how many weeks from this one.
WEEKDAYS: "Mapping[str, tuple[tuple[str, int], ...]]" = {
    "en": ((r"this W(?! (?:morning's|last|past))", 0),),
    "de": ((r"diese[nrms]? W", 0),),
    "fr": ((r"ce W", 0),),
    "es": ((r"este W", 0),),
    "it": ((r"quest[oa] W", 0),),
    "nl": ((r"deze W", 0),),
    "zh": ((r"(?:这|這|本)(?:周|週|星期|礼拜)W", 0), (r"下(?:周|週|星期|礼拜)W", 1)),
    "ja": ((r"今週のW日?", 0), (r"来週のW日?", 1)),
    "ko": ((r"이번 ?주 W", 0), (r"다음 ?주 W", 1)),
}
_UNSPACED = ("zh", "ja")
_NUMERIC_DATE = re.compile(r"\d{4}-\d{2}|\d{1,2}[./]\d{1,2}(?:[./]|\b)|\d\s?[月월]")


def with_dates(text: str, language: str, said_at: datetime) -> str:
    """`text` with the day behind each relative expression that is certain. `said_at` is in the speaker's zone."""
    for _start, end, day in reversed(_certain(text, language, said_at)):
        space = "" if language in _UNSPACED else " "
        text = f"{text[:end]}{space}({day.isoformat()}){text[end:]}"
    return text


def in_dates(text: str, language: str, said_at: datetime, ahead: bool = False) -> str:
    """`text` with the day in the place of each such expression, for reading it on another day. `ahead`: it was about
    something to come, so that "in 3 days" is certain too."""
    for start, end, day in reversed(_certain(text, language, said_at, ahead)):
        text = f"{text[:start]}{day.isoformat()}{text[end:]}"
    return text


def _certain(
    text: str, language: str, said_at: datetime, ahead: bool = False
) -> "list[tuple[int, int, date]]":
    """The first two relative expressions that are certain, and the day that each means."""
    if said_at.hour < NIGHT_ENDS_AT or _NUMERIC_DATE.search(text):
        return []
    found = _relative_days(text, language, said_at.date(), ahead)
    return [(start, end, day) for end, (start, day) in sorted(found.items())][:2]


def _relative_days(
    text: str, language: str, today: date, ahead: bool = False
) -> "dict[int, tuple[int, date]]":
    """Where each certain expression starts and the day that it means, by the place where it ends."""
    found: "dict[int, tuple[int, date]]" = {}
    for match in _simple(language).finditer(text) if language in DAYS else ():
        if not _means_something_else(text, match, language):
            day = today + timedelta(days=DAYS[language][match.group().lower()])
            found[match.end()] = match.start(), day
    for pattern, sign in _counted(language, ahead):
        for match in pattern.finditer(text):
            if not _quoted(text[: match.start()]):
                day = today + timedelta(days=sign * _number(match.group(1).lower(), language))
                found[match.end()] = match.start(), day
    for pattern, weeks in _weekdays(language):
        for match in pattern.finditer(text):
            named = _weekday(match.group(1).lower(), weeks, language, today)
            if named is not None and not _quoted(text[: match.start()]):
                found[match.end()] = match.start(), named
    return found


def _means_something_else(text: str, match: "re.Match[str]", language: str) -> bool:
    before, after = text[: match.start()], text[match.end() :]
    if language in NOT_AFTER and re.search(NOT_AFTER[language], before[-24:], re.IGNORECASE):
        return True
    if language in NOT_BEFORE and re.match(NOT_BEFORE[language], after, re.IGNORECASE):
        return True
    # German and Dutch nouns for the morning have a capital or open a greeting.
    if language in ("de", "nl") and match.group() == "Morgen" and (before.strip() or len(after.split()) < 2):
        return True
    return _quoted(before)


def _quoted(before: str) -> bool:
    """True inside a quotation: whoever is quoted said it on another day."""
    return (
        before.count('"') % 2 == 1
        or before.count("“") > before.count("”")
        or before.count("«") > before.count("»")
        or before.count("「") > before.count("」")
    )


def _number(word: str, language: str) -> int:
    return int(word) if word.isdigit() else _SMALL[language].split().index(word) + 2


def _weekday(name: str, weeks: int, language: str, today: date) -> "date | None":
    """The named day `weeks` from this week. In this week only a day still to come; none on a Sunday, which some
    count to the week before."""
    if today.weekday() == 6:
        return None
    ahead = _MONDAY_FIRST[language].split().index(name) - today.weekday() + 7 * weeks
    return today + timedelta(days=ahead) if ahead > 0 else None


@lru_cache(maxsize=32)
def _simple(language: str) -> "re.Pattern[str]":
    words = "|".join(re.escape(word) for word in sorted(DAYS[language], key=len, reverse=True))
    if language in _UNSPACED:
        return re.compile(words)
    behind = "" if language == "ko" else r"(?![\w-])"  # Korean particles follow without a space
    return re.compile(rf"(?<![\w'’-])(?:{words}){behind}", re.IGNORECASE)


@lru_cache(maxsize=32)
def _counted(language: str, ahead: bool) -> "tuple[tuple[re.Pattern[str], int], ...]":
    words = "|".join(_SMALL.get(language, "").split())
    number = rf"(\d{{1,2}}{'|' + words if words else ''})"
    edge = "" if language in _UNSPACED or language == "ko" else r"(?<![\w.,-])"
    return tuple(
        (re.compile(edge + form.replace("N", number), re.IGNORECASE), sign)
        for form, sign in COUNTED.get(language, ()) + (AHEAD.get(language, ()) if ahead else ())
    )


@lru_cache(maxsize=32)
def _weekdays(language: str) -> "tuple[tuple[re.Pattern[str], int], ...]":
    names = "|".join(_MONDAY_FIRST.get(language, "").split())
    edge = r"" if language in _UNSPACED or language == "ko" else r"\b"
    return tuple(
        (re.compile(edge + form.replace("W", f"({names})") + edge, re.IGNORECASE), weeks)
        for form, weeks in WEEKDAYS.get(language, ())
    )
