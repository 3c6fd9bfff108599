"""When two texts say the same: words, fingerprint, and near-identical wording with the same numbers and names."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

_NEGATIONS = frozenset(
    """not no never none without cannot isn't won't don't doesn't didn't can't wasn't aren't neither nor nothing
    nobody nowhere hardly scarcely barely rarely seldom unless except former formerly nope nicht kein keine keinen nie
    niemals ohne nichts niemand kaum ausser außer nein nee nej pas jamais aucun aucune rien personne plus sin nunca
    tampoco nada nadie nao não sem nem nenhum ninguém non mai senza niente nessuno niet geen nooit zonder inte ej
    ingen inget aldrig utan ikke aldri uden uten ei eivät älä soha nu nici fără değil yok hiç bez nie nikdy není ani
    не нет ни без никогда нельзя ні немає δεν μην όχι لا ليس لم لن بدون לא אין בלי नहीं मत""".split()
)
_WIDE_NEGATIONS = (
    "ない|なかっ|なく|ません|なし|無|ぬ(?=$|。)|ず(?=に|、|。|$)|[不没沒非无未勿莫別别]|안 |않|못|없|아니"
)
# Words that make less of what they stand with: a maybe, something planned, bounded, called off, over, or only one of
# two. What was called off may be on again, and is then said in the words that it had before. "Nei"
# is "no" in Norwegian, but "in the" in Italian, and so is not among the negations.
_HEDGES = frozenset(
    """might may maybe must will would could can should shall ought ll d going gonna probably possibly perhaps
    presumably supposedly allegedly apparently likely seems seemed almost nearly partly only but or either if
    whether until till instead hope hopes hoped plans planned planning intends try tries tried considering
    thinks believes guess guesses suspects doubts old previous previously ex stopped stops quit used
    cancel cancels cancelled canceled off postponed ended ends expired finished done
    könnte könnten dürfte dürfen darf muss müssen musste soll sollte sollen wird werden würde kann können mag möchte
    vielleicht wahrscheinlich vermutlich möglicherweise wohl angeblich fast beinahe nahezu nur aber oder entweder wenn
    falls ob bisher geplant plant hofft versucht alte alter altes alten früher vorherige aufgehört
    abgesagt storniert gekündigt verschoben beendet endet vorbei fertig
    peut peuvent pourrait doit devra devrait peut-être probablement sûrement presque seulement mais ou si jusqu'à
    jusqu'au jusqu'en prévu prévoit espère ancien ancienne arrêté annulé annulée reporté reportée terminé terminée fini
    puede podría debe debería quizá quizás acaso probablemente posiblemente casi solo sólo pero o hasta espera planea
    antiguo antigua antes dejó viejo vieja cancelado cancelada aplazado aplazada terminado terminada
    può potrebbe deve dovrebbe forse probabilmente quasi soltanto ma oppure fino spera vecchio vecchia smesso
    annullato annullata rimandato rimandata finito finita
    pode poderia deveria talvez provavelmente quase só apenas mas até velho velha parou adiado adiada acabou
    kan kon zou moet misschien waarschijnlijk bijna alleen maar oude gestopt afgelast geannuleerd uitgesteld afgelopen
    kanske måske kanskje snart nästan næsten nesten bara bare men eller ska skal vil måste må gamla gamle inställt
    inställd uppskjutet aflyst udskudt avlyst utsatt
    może musi chyba prawdopodobnie prawie tylko ale lub albo stary stara będzie odwołany odwołana odwołane
    przełożone skończone
    может должен должна надо возможно наверное наверно вероятно почти только но или если будет старый старая старое
    отменен отменён отменена отменено перенесен перенесён перенесена закончен закончена
    nei""".split()
)
_WIDE_HEDGES = (
    "かもしれ|かも(?=$|。)|だろう|でしょう|らしい|たぶん|多分|おそらく|ほとんど|予定|つもり|はず|べき|だけ|以前|いいえ|キャンセル|中止|延期|終わ"
    "|可能|也许|也許|大概|或许|或許|差点|差點|几乎|幾乎|打算|应该|應該|必须|必須|只|但|或者|如果|取消|推迟|推遲|结束|結束"
    "|아마|거의|것 같|예정|해야|만 |하지만|또는|전에는|취소|연기|끝났"
)
# Words that tell what part the next one plays: "from Anna to Ben" is not "from Ben to Anna".
_LEADING = frozenset(
    """to from than over before after into onto by for with in on at of since until under above behind about against
    von vom nach zu zum zur als vor statt für an am auf bei mit im seit bis über unter hinter gegen de del da do a à au
    aux en por para que con sobre antes avant après pour par avec sans dans chez su di dal della per tra от до к из в
    на с у перед после вместо чем""".split()
)
# Words with which somebody says a thing once more, and which add nothing to it.
_ONCE_MORE = frozenset(
    """said say says saying told tell mentioned asked noted remember remind know actually basically simply already still
    please thanks gesagt sagte wie schon eben also bitte danke dit rappel déjà dije digo ya
    recuerda disse já detto già""".split()
)
_BELOW_ZERO = re.compile(r"(?<!\w)[-−–](\d[\d.,]*)")
_STOP = frozenset(
    """a an the of to in on at for and or is are was were be been am i you he she it we they my your his her its our
    their this that these those so just really very too also with from as by user""".split()
)
_WORD = re.compile(r"[^\W_]+(?:[.,:/'’\-][^\W_]+)*")
# Scripts without spaces: Japanese, Chinese, Korean, Thai.
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f]+")


def fingerprint(text: str) -> str:
    """The text apart from case, markup, punctuation and width: equal fingerprints say the same in the same words."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub(r"[`*_~#>\[\]()\"“”‘’'«»]", "", text)
    return " ".join(re.findall(r"[^\s.,;:!?…。、，；：！？]+(?:[.,:][^\s.,;:!?…。、，；：！？]+)*", text))


def words_of(text: str) -> "list[str]":
    """The words of a text for comparing: case folded; scripts without spaces as overlapping pairs of characters."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    found: "list[str]" = []
    for word in _WORD.findall(text):
        wide = WIDE.findall(word)
        rest = WIDE.sub(" ", word).split() if wide else [word]
        found.extend(rest)
        for run in wide:
            found.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
    return found


class Features(NamedTuple):
    """What two observations are compared by. Two with different numbers, names or negation never say the same.
    `hedges` are the words that make less of the others ("might", "only", "old").
    `order` has the words that tell something as they stand, each with the word that tells its part, or ""."""

    print: str
    words: "frozenset[str]"
    numbers: "frozenset[str]"
    names: "frozenset[str]"
    negated: bool
    hedges: "frozenset[str]"
    currencies: "frozenset[str]"
    order: "tuple[tuple[str, str], ...]"

    @property
    def telling(self) -> "frozenset[str]":
        """The words without those of saying it once more."""
        return self.words - _ONCE_MORE


@functools.lru_cache(maxsize=16_384)
def features(text: str) -> Features:
    """The Features of a text, remembered: each window is compared with all that memory holds. Names are words with
    a capital that do not open a sentence."""
    words = words_of(text)
    capitals = re.findall(r"(?<![.!?:]\s)(?<!^)\b([^\W\d_][^\W_]*)", text)
    names = frozenset(name.casefold() for name in capitals if name[0].isupper() and name not in ("I", "User"))
    parts = {part for word in words for part in (word, word.rpartition("'")[2])}
    return Features(
        fingerprint(text),
        frozenset(word for word in words if word not in _STOP),
        frozenset(word for word in words if any(character.isdigit() for character in word))
        | frozenset("-" + number for number in _BELOW_ZERO.findall(text)),
        names,
        any(word in _NEGATIONS or word.endswith("n't") for word in words)
        or bool(re.search(_WIDE_NEGATIONS, text)),
        frozenset(re.findall(_WIDE_HEDGES, text)) | (_HEDGES & parts - names),  # "31 May" is no "may"
        frozenset(character for character in text if unicodedata.category(character) == "Sc"),
        tuple(_with_parts(words)),
    )


def _with_parts(words: "list[str]") -> "Iterator[tuple[str, str]]":
    part = ""
    for word in words:
        if word in _LEADING:
            part = word
        elif word not in _STOP:
            yield part, word
            part = ""


def adds_nothing(new: Features, old: Features) -> bool:
    """True when all that `new` says stands in `old`: the same words, or some of them in the same parts.

    One word more or another, a "not", a "might" in one of them, two things that have changed places: that may be a
    correction, and a line too many does less harm than one that was lost.
    """
    if new.print == old.print:
        return True
    if (new.numbers, new.names, new.negated, new.hedges) != (old.numbers, old.names, old.negated, old.hedges):
        return False
    words = new.telling
    if not words or not words <= old.words or (old.currencies and new.currencies - old.currencies):
        return False
    if len(words) < 3 and len(words) < 0.8 * len(old.words):
        return False
    return not _changed_places(new, old)


def _changed_places(new: Features, old: Features) -> bool:
    """Whether words that both have play each other's parts, or those without one stand in another order."""
    parts = [
        {word: part for part, word in reversed(one.order) if word in new.words & old.words}
        for one in (new, old)
    ]
    here, there = parts
    for part in set(here.values()) & set(there.values()) - {""}:
        if {word for word in here if here[word] == part} != {word for word in there if there[word] == part}:
            return True
    plain = [word for word in here if not here[word] and not there[word]]
    return plain != [word for word in there if not here[word] and not there[word]]


def says_the_same(new: Features, old: Features) -> bool:
    """True when `new` says about what `old` does: the same words, near-identical wording, or a part of what is there.

    0.8 of all words shared lets a changed filler word pass and keeps a changed noun apart in lines of usual length.
    """
    if new.print == old.print:
        return True
    if new.numbers != old.numbers or new.names != old.names or new.negated != old.negated:
        return False
    shared = len(new.words & old.words)
    if not shared:
        return False
    if len(new.words) >= 3 and shared == len(new.words):
        return True
    return shared >= 0.8 * len(new.words | old.words)
