"""Words, sentences and languages, as far as the gate needs them to tell whether a line came from a message."""

from __future__ import annotations

import re

from _likeness import words_of

# Words that any two texts share, and those with which a line reports somebody's words.
ORDINARY = frozenset(
    """a about after all also always am an and any are as at be because been but by can could did do does don't for
    from get go going
    got had has have he her his how i i'm i'll i've if in into is it it's its just let like me more my need new no
    not now of ok on one
    only or our out please really said say says she should so some tell than that the their them then there they
    this to told too up us
    user user's want wants was we were what when which who will with would yes you your asked mentioned assistant
    aber als also am an auch auf aus bei bin bist bitte da das dass dem den der des die dir doch du ein eine einem
    einen einer er es für
    hab habe haben hat ich ihr im in ist ja kann mal man mein meine mich mir mit nach nicht noch nur oder schon sein
    sich sie sind so
    und uns von vor war was wenn werden wie will wir wird zu zum zur nutzer sagte
    au aux avec ce cette dans de des du elle en est et il ils j'ai je la le les leur lui ma mais me mes moi mon ne
    nous on ou où par pas
    plus pour qu'il que qui sa se ses son sur ta te tu un une vous c'est
    al como con cuando de del el ella en es está esta este fue ha hay la las le lo los mas me mi mis muy no o para
    pero por que se si
    sin soy su sus te tengo tu un una y ya yo
    che di e gli ha ho i il la le lo mi ma nel non per più sono un una uno anche della del
    com da do das dos e é em eu foi isso meu minha na não no nos o os para por que se sem sou sua tem tenho um uma você
    het een ik je niet van voor met naar ook maar dat die deze mijn hij zij wij""".split()
)

_ENDINGS = re.compile(r"(?:ies|ing|ers|en|ed|es|er|s|y|'s|n|e)$")
_STEM_CHARS = 6  # enough to tell words of one topic apart, short enough to join their forms


def stem(word: str) -> str:
    """The beginning that forms of one word share; words with digits and short ones stay as they are."""
    if len(word) < 4 or not word.isalpha():
        return word
    return _ENDINGS.sub("", word)[:_STEM_CHARS]


_PARTS = re.compile(r"[^\W_]+")


def stems(text: str) -> "frozenset[str]":
    """The words that carry the meaning of a text, as stems."""
    found: "set[str]" = set()
    for word in words_of(text):
        if word.isalnum() or any(map(str.isdecimal, word)):
            found.add(word)
        else:  # "l'appartement", "Ana's", "check-in", "plan.md"
            found.update(_PARTS.findall(word))
    return frozenset(
        stem(word) for word in found - ORDINARY if len(word) > 1 or not word.isascii() or word.isdecimal()
    )


_SENTENCE_END = re.compile(
    # not after "Dr.", "e.g.", "Mrs.", "Prof." and the dots of German dates
    r"(?<=[.!?…])(?<!\b[A-Z][a-z]\.)(?<!\b[A-Za-z]\.)(?<!\bMrs\.)(?<!\bProf\.)(?<!\bbzw\.)(?<!\b\d\.)(?<!\b\d\d\.)\s+|(?<=[。！？])\s*|\n+"
)


def sentences(text: str) -> "list[str]":
    """The sentences and lines of a text."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part and part.strip()]


_QUOTE_LINE = re.compile(r"(?m)^[ \t]*>[^\n]*$")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.S)


def own_words(text: str) -> str:
    """A message without what it quotes: fenced blocks and lines behind ">" are somebody else's words."""
    return _QUOTE_LINE.sub("", _FENCE.sub("\n", text))


_SCRIPTS = (
    ("japanese", re.compile("[\u3040-\u30ff]")), ("korean", re.compile("[\uac00-\ud7af]")),
    ("chinese", re.compile("[\u3400-\u9fff]")), ("cyrillic", re.compile("[\u0400-\u04ff]")),
    ("arabic", re.compile("[\u0600-\u06ff]")), ("hebrew", re.compile("[\u0590-\u05ff]")),
    ("thai", re.compile("[\u0e00-\u0e7f]")), ("indic", re.compile("[\u0900-\u0dff]")), ("greek", re.compile(
        "[\u0370-\u03ff]")),
)  # fmt: skip
_COMMON = {
    "english": "the and is are was to of my i you for with on it this that have user prefers wants has in "
    "from his her".split(),
    "german": "der die das und ist ich nicht mit für auf ein eine mein meine wir sind im am zu habe hat".split(),
    "french": "le la les et est je ne pas avec pour un une mon ma nous des du dans à j'ai".split(),
    "spanish": "el la los y es yo no con para un una mi en que por tengo del está".split(),
    "italian": "il la gli e è io non con per un una mio mia che di ho sono della".split(),
    "portuguese": "o a os e é eu não com para um uma meu minha que de em tenho".split(),
    "dutch": "de het en is ik niet met voor een mijn wij van op heb dat".split(),
    "polish": "i w na z nie się do jest mam to że mój".split(),
}
_COMMON_SETS = {name: frozenset(words) for name, words in _COMMON.items()}


def language_of(text: str) -> str:
    """The script of a text, or for Latin letters the language whose small words it has; "" when it has none."""
    for name, pattern in _SCRIPTS:
        if len(pattern.findall(text[:2000])) >= 2:
            return name
    words = words_of(text[:2000])
    counts = {name: sum(word in common for word in words) for name, common in _COMMON_SETS.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] and list(counts.values()).count(counts[best]) == 1 else ""
