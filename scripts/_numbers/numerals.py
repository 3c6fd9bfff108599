"""Numbers in all their spellings, brought to one: "1.000,50", "1,000.50", "٣", "three", "drei", "三", "50k"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from _lexicon import grammar_words
from _likeness import words_of

NUMBER = re.compile(r"\d+(?:[.,'’٫٬\u00a0\u202f]\d+)*")
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)")
_PHONE = re.compile(r"\+?\d[\d ()/.\u00a0-]{5,24}\d")
# Words by the power of ten that they stand for.
_POWERS = {
    2: "hundred 百",
    3: "k tsd thousand tausend mille mil 千 тыс",
    4: "万 萬 만",
    5: "lakh",
    6: "m mio mn million millions millionen millones millón млн",
    7: "crore",
    8: "億 亿 억",
    9: "bn billion milliarden mrd",
}
_SCALE = {word: power for power, words in _POWERS.items() for word in words.split()}
_SCALED = re.compile(
    r"(?<![\d.,])(\d{1,15}(?:[.,]\d{1,15}){0,5})[ \u00a0]?("
    + "|".join(sorted(_SCALE, key=len, reverse=True))
    + r")(?![^\W\d_万萬億亿千百만억])",
    re.I,
)


def ascii_digits(text: str) -> str:
    """The text with every decimal digit of any script as 0 to 9."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.decimal(character)) if character.isdecimal() else character for character in text
    )


def _plain(text: str) -> str:
    """ "007" as "7", "1.50" as "1.5"."""
    whole, dot, rest = text.partition(".")
    whole, rest = whole.lstrip("0") or "0", rest.rstrip("0")
    return f"{whole}.{rest}" if dot and rest else whole


def readings(token: str) -> "set[str]":
    """What a written number can mean: "1.500" is 1500 and 1.5, "3.11.2" only itself."""
    parts = re.split(r"[.,'’٫٬\u00a0\u202f ]", token)
    if len(parts) == 1:
        return {_plain(token)}
    found = {".".join(parts)}
    grouped = len(parts[0]) <= 3
    if grouped and all(len(part) == 3 for part in parts[1:]):
        found.add(_plain("".join(parts)))
    if grouped and all(len(part) == 3 for part in parts[1:-1]) or len(parts) == 2:
        found.add(_plain("".join(parts[:-1]) + "." + parts[-1]))
    return found


def scaled(text: str) -> "set[str]":
    """The values of "50k", "1.5 million", "3万" in a text."""
    found: "set[str]" = set()
    for number, scale in _SCALED.findall(text):
        for reading in readings(number):
            try:
                value = Decimal(reading).scaleb(_SCALE[scale.lower()])
            except (InvalidOperation, KeyError):
                continue
            found.add(_plain(format(value, "f")))
    return found


def phone_numbers(text: str) -> "list[tuple[int, int, str]]":
    """Runs of digits with the signs that stand between those of a telephone number: (start, end, the digits)."""
    return [(*found.span(), re.sub(r"\D", "", found.group())) for found in _PHONE.finditer(text)]


def numbers_said(text: str) -> "set[str]":
    """Every number that a text holds, in digits or words, in each of its readings."""
    found = scaled(text) | set(spelled(text))
    for token in NUMBER.findall(text):
        found |= readings(token)
        found.update(_plain(part) for part in re.findall(r"\d+", token))
    for token in _SPACED.findall(text):
        found |= readings(token)
    found.update(digits for _start, _end, digits in phone_numbers(text))
    return found


# The words of a language for the numbers from 0 or 1 on, one after the other. Where two languages have the same word,
# the first one has it.
_COUNTED = (
    (0, """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen twenty"""),
    (0, """null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn
        siebzehn achtzehn neunzehn zwanzig"""),
    (0, """zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept
        dix-huit dix-neuf vingt"""),
    (0, """cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis
        diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis
        veintisiete veintiocho veintinueve"""),
    (1, """uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici
        diciassette diciotto diciannove venti"""),
    (1, """um dois três quatro cinco seis sete oito nove dez onze doze treze quatorze quinze dezesseis dezessete
        dezoito dezenove vinte"""),
    (1, """een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien
        achttien negentien twintig"""),
    (1, "jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć"),
    (1, "один два три четыре пять шесть семь восемь девять десять"),
    (1, """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
        fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"""),
    (1, "ersten zweiten dritten vierten fünften sechsten siebten achten neunten zehnten elften zwölften"),
)  # fmt: skip
_GERMAN_ONES = "ein zwei drei vier fünf sechs sieben acht neun"
_GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
# 20, 30 and so on.
_TENS = (
    "twenty thirty forty fifty sixty seventy eighty ninety",
    _GERMAN_TENS,
    "vingt trente quarante cinquante soixante",
    "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
    "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
)
_OTHERS = {
    1: "a an ein eine einen einem einer une una um uma single",
    2: "zwo couple pair both twice beide paar double fortnight",
    3: "thrice triple dreimal",
    12: "dozen dutzend docena douzaine",
    100: "hundred hundert cent cien cem cento",
    1000: "thousand tausend mille mil",
}


def _table() -> "dict[str, int]":
    """The value of every word."""
    table: "dict[str, int]" = {}
    rows = [(start, 1, words) for start, words in _COUNTED]
    rows += [(20, 10, words) for words in _TENS]
    rows += [(value, 0, words) for value, words in _OTHERS.items()]
    for start, step, words in rows:
        for place, word in enumerate(words.split()):
            table.setdefault(word, start + step * place)
    for ten in _GERMAN_TENS.split():
        for one, word in enumerate(_GERMAN_ONES.split(), 1):
            table[f"{word}und{ten}"] = table[ten] + one
    return table


_WORDS = _table()
_HAN_DIGITS = {
    digit: value
    for value, digits in enumerate("〇零 一 二两兩 三 四 五 六 七 八 九".split())
    for digit in digits
}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "萬": 10_000}
_HAN_NUMBER = re.compile("[〇零一二两兩三四五六七八九十百千万萬]{1,12}")


_AFTER_ONE_TIME = [[word] for word in "a per every each in more again daily weekly monthly yearly".split()]
_AROUND = 6  # words on either side: about a clause


def spelled(text: str) -> "list[str]":
    """The numbers that stand in words: "twenty-five", "two hundred", "fünfundzwanzig", "二十五"."""
    found: "list[int]" = []
    before = -1
    words = [part for whole in words_of(text) for part in whole.split("-")]
    for place, word in enumerate(words):
        value = -1 if word == "once" and _means_one_time(words, place) else _WORDS.get(word, -1)
        if value >= 0:
            found.append(value)
            if before >= 20 and before % 10 == 0 and 0 < value < 10:
                found.append(before + value)
            if 0 < before < 100 and value in (100, 1000):
                found.append(before * value)
        before = value
    found.extend(_han_value(run) for run in _HAN_NUMBER.findall(text))
    return [str(value) for value in found]


def _means_one_time(words: "Sequence[str]", place: int) -> bool:
    """Whether the "once" at a place is English, and not the Spanish eleven: by the words of grammar around it, or else
    by the next word."""
    around = {*words[max(0, place - _AROUND) : place], *words[place + 1 : place + 1 + _AROUND]}
    grammar = grammar_words()
    english, spanish = (len(around & grammar[code]) for code in ("en", "es"))
    return english > spanish or english == spanish and words[place + 1 : place + 2] in _AFTER_ONE_TIME


def _han_value(run: str) -> int:
    if not any(character in _HAN_UNITS for character in run):
        return int("".join(str(_HAN_DIGITS[character]) for character in run))
    total = section = digit = 0
    for character in run:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        elif _HAN_UNITS[character] == 10_000:
            total, section, digit = (total + section + digit or 1) * 10_000, 0, 0
        else:
            section, digit = section + (digit or 1) * _HAN_UNITS[character], 0
    return total + section + digit
