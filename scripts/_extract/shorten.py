"""Take out what a clause does not need: greetings and names in front, intensifiers, tags behind."""

from __future__ import annotations

import re

# A clause that begins like this limits or denies what stands before it: never cut off.
TRAILING_GUARD = re.compile(
    r"(?:but|unless|if|except|until|though|although|however|only|not|or|instead|provided|when|than)\b",
    re.IGNORECASE,
)
NEGATION = re.compile(r"\b(?:not|no|never|none|nobody|nothing|without|cannot|\w+n['’]t)\b", re.IGNORECASE)
_HELLO = (
    r"(?:hey|hi|hello|good morning|good evening|dear|hallo|guten morgen|moin|servus|bonjour|salut|coucou|"
    r"hola|buenas|olá|oi|ciao|"
    r"buongiorno|hoi|goedemorgen|cześć|hej|merhaba|selam|привет|здравствуйте)"
)
# One or two words with a capital after a greeting are whoever is greeted.
_GREETING = re.compile(
    rf"{_HELLO}(?:[\s,]+(?!(?:I|Ich|Je|Ik|Ja)\b)(?-i:[A-ZÀ-ÞĀ-ŽА-Я])[^\W\d_]*){{0,2}}\s*(?:[,!.…:–—-]+\s*|"
    rf"$)",
    re.IGNORECASE,
)
_INTERJECTION = re.compile(
    r"(?:(?:oh|ah|aw+|wow|whoa|woah|yeah|yep|yup|haha|hehe|lol|hmm+|um+|uh+|btw|by the way|anyway|"
    r"guess what|(?:ok|okay) so|here['’]s the thing|ところで|and|but|plus|so(?!\s+(?:far|that|much|"
    r"many|long)\b))(?:[\s,.!:;…–—-]+|$)|"
    r"(?:yes|no|nope|thanks|thank you|thanks a lot|thanks so much|thx|cool|nice|awesome|great|well|also|"
    r"absolutely|definitely|totally|"
    r"sure|of course|ok|okay|yay|man|actually|honestly|you know|i mean|to be honest|tbh|exactly|right|"
    r"true|congrats|sorry|please|"
    r"ja|nein|danke|also|übrigens|na ja|super|oui|non|merci|bref|sí|no|gracias|vale|por cierto|sim|não|"
    r"obrigad[oa]|então|sì|grazie|"
    r"allora|bedankt|nee|trouwens|tak|nie|dzięki|evet|hayır|teşekkürler|tamam|да|нет|спасибо|кстати|네|아니요|"
    r"감사합니다|好的|好|谢谢|謝謝|"
    r"はい|いいえ|ありがとう|ありがとうございます)(?:[,.!:;…–—，、！。-]+\s*|$))",
    re.IGNORECASE,
)
# Intensifiers add no fact. After a negation they do ("not just"), and with a capital they may be a title.
_FILLER = re.compile(
    r"(?<!not )(?<!n't )(?<!n’t )(?<!never )(?<!cannot )(?<!no )(?<!hardly )\b"
    r"(?:really|very|just(?! (?:as|like|in|under|over|about|before|after)\b)|totally|actually|basically|"
    r"literally|definitely|honestly|"
    r"truly|kinda|simply|super|quite|absolutely|completely|incredibly|extremely|obviously|certainly|also|"
    r"finally|"
    r"even(?! (?:if|though|when|as|so|number)\b)|so(?! (?:that|far|much|many|long|often|as|I|i|we|he|she|"
    r"it|they|you|there|the|a|an|my|our|is|"
    r"do|does|did|are|was)\b))\s+(?!not\b|no\b|n't)(?=\S)"
)
_FIRST_FILLER = re.compile(
    r"^(?:Really|Just|Also|Actually|Definitely|Finally|Honestly|Basically|Literally|So|"
    r"Even)\s+(?=[a-z])(?!if |though )"
)
# "I" goes where the rest reads as a note: "Anna: went to Porto", not "Anna: want to go".
_SUBJECT = re.compile(
    r"^(?:I['’]m\s+(?=\w+(?:ing|in['’]|ed)\b)|I am\s+(?=\w+(?:ing|ed)\b)|I['’]ve\s+(?=been|got|had|"
    r"\w+e[dn]\b)|"
    r"I\s+(?=(?:\w+ed|went|got|had|made|took|lost|met|saw|found|ran|won|bought|sold|gave|came|began|"
    r"started|left|felt|thought|told|"
    r"wrote|read|ate|drove|flew|built|taught|caught|chose|grew|kept|knew|spent|sent|paid|was|did|said|put|"
    r"set|quit|broke|fell)\b))"
)
_TAG = re.compile(
    r"[,，、\s]+(?:谢谢|謝謝|ありがとう(?:ございます)?|감사합니다|"
    r"you know|i think|i guess|lol|haha|thanks|thank you|and stuff|"
    r"and all that|or something|"
    r"for sure|of course|right|"
    r"isn['’]t it|danke|merci|gracias|obrigad[oa]|grazie|bedankt|dzięki|спасибо)[\s.!?…]*$",
    re.IGNORECASE,
)
_EDGES = " \t,;:.!…-–—~*_。！，、"


def without_subject(text: str) -> str:
    """An English clause without the "I" in front: for lines that begin with the name of whoever speaks."""
    return _SUBJECT.sub("", text)


def shorten(text: str, language: str, names: "frozenset[str]") -> str:
    """The clause without its fillers. `names` are the people who speak (case folded): being addressed adds
    nothing."""
    text = _strip_front(text.strip(_EDGES), names)
    text = _strip_addressee(_TAG.sub("", text).strip(_EDGES), names)
    if language == "en":
        text = _FILLER.sub("", _FIRST_FILLER.sub("", text))
    return text.strip(_EDGES)


def _strip_front(text: str, names: "frozenset[str]") -> str:
    for _ in range(6):
        opening = _GREETING.match(text) or _INTERJECTION.match(text)
        if opening:
            text = text[opening.end() :].lstrip(_EDGES)
            continue
        head, separator, rest = text.partition(",")
        if not is_speaker(head, names):
            return text
        if not separator:
            return ""
        text = rest.lstrip(_EDGES)
    return text


def _strip_addressee(text: str, names: "frozenset[str]") -> str:
    head, separator, tail = text.rpartition(",")
    return head.rstrip(_EDGES) if separator and is_speaker(tail, names) else text


def is_speaker(text: str, names: "frozenset[str]") -> bool:
    """A speaker's name or the beginning of one ("Mel" for Melanie)."""
    word = text.strip(_EDGES + "?").casefold()
    return len(word) > 1 and any(word == name or (len(word) > 2 and name.startswith(word)) for name in names)
