"""From a message to the clauses a person said: pasted code and logs out, sentences apart, words told apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from _lexicon import is_common_anywhere, note_heads
from _transcripts.message import Message

MAX_SENTENCE_CHARS = 400
# Marks that join a letter in Indic, Hebrew, Arabic and Thai script are no letters for `\w`.
_JOINED = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u0900-\u0903\u093a-\u094f\u0981-\u0dff\u0e31-\u0e4e"
)
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")
TOKEN = re.compile(rf"[^\W_][\w{_JOINED}]*(?:[.,:/'’@+\-][^\W_][\w{_JOINED}]*)*")

LABEL = re.compile(r"([^\W\d_][\w'’.\-]{0,30}(?: [^\W\d_][\w'’.\-]{0,30}){0,2}): ?(?=\S)")
_FENCE = re.compile(r"(```|~~~)")
_END = re.compile(r"(?:[.!?…]+[\"'”’»)\]*]*(?=\s|$)|[。！？!?｡؟।۔]+[」』”）)]*)")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|dr|mr|mrs|ms|st|vs|e\.g|i\.e|z\.b|d\.h|u\.a|ca|bzw|usw|nr|no|sr|sra|dott|"
    r"prof|inc|ltd|jr|approx|"
    r"p\.ej|np|ok|tel|str|т\.е|т\.д|г|ул|\d{1,2})\.$",
    re.IGNORECASE,
)
_PROMPT = re.compile(r"\$ ?[a-z./~]|>>> |Traceback ")
_CODE_LINE = re.compile(
    r"(?:\$ ?[a-z./~]|>>> |\.\.\. |/[a-z][\w-]*(?:\s|$)|"
    r"git (?:add|commit|push|pull|clone|checkout|status|log|diff|rebase|merge|stash|fetch|init|branch)\b|"
    r"(?:npm|npx|pnpm|yarn|pip3?|apt|apt-get|brew|docker|kubectl|cargo|openclaw) "
    r"(?:install|run|i|ci|add|build|compose|exec|get|apply|start|stop|update|upgrade|ps|pull|push|logs|cron|doctor)\b|"
    r"(?:sudo|cd|ls|cat|grep|curl|wget|ssh|chmod|mkdir|rm|cp|mv|python3?|node|bash|sh|export)\s+(?:[-./~$]|\w+[=./])|"
    r"import [\w.]+(?: as \w+)?;?$|from [\w.]+ import |def \w+\(|class \w+(?:\(.*\))?:$|(?:const|let|var) \w+ ?=|"
    r"function \w*\(|return\b.*;$|#include|<\?|</?\w+[^>]*>$|at [\w.$<>]+\(|Traceback |File \"|"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL)\b|"
    r"[{\[]\s*[\"'{\[].*[}\]],?$|"
    r"[+\-]{3} |@@ |[{}\[\]();,]+$|[\"']?[\w.-]+[\"']?\s*[:=]\s*[\"'{\[].*[,;}\]\"']$|SELECT .* FROM |\|.*\|$)"
)
_SYMBOLS = re.compile(r"[{}<>\[\]=;|\\$`~^_#&*+@%]")
_LONG_TOKEN = re.compile(r"\S{60,}")
_DATA_URL = re.compile(r"\[(?:image|media|file|audio|attached)[^\]]{0,200}\]", re.IGNORECASE)
_EMOTICON = re.compile(r"(?<!\S)(?:<3+|[:;=]['’]?-?[)(\]\[DPpOo3/|\\*]+|[xX]D+|\^_?\^)(?!\S)")


@dataclass(frozen=True)
class Utterance:
    """One message, its text without a "Name:" in front.

    `label` is that name, or the one that the channel gives for a person who is not the owner; "" for the owner and
    the assistant.
    """

    message: Message
    label: str
    text: str

    @property
    def from_assistant(self) -> bool:
        return self.message.role == "assistant"


def utterances(messages: Sequence[Message]) -> "list[Utterance]":
    """Messages with the speaker told apart from what was said.

    A name in front of the text counts where the channel named nobody; with the owner only when others in the window
    are named so too, since a single "Porto: two days" is no speaker.
    """
    heads = [
        None if message.role != "user" or message.sender else LABEL.match(message.text)
        for message in messages
    ]
    labels = [head.group(1) for head in heads if head]
    names = {label for label in labels if is_name(label, labels.count(label))}
    crowd = sum(label in names for label in labels) > 1
    found = []
    for message, head in zip(messages, heads):
        label, text = "" if message.trusted or message.role != "user" else message.sender, message.text
        if head and head.group(1) in names and (crowd or not message.trusted):
            label, text = head.group(1), message.text[head.end() :]
        found.append(Utterance(message, " ".join(label.split()), text))
    return found


def is_name(label: str, times: int = 1) -> bool:
    """A word before a colon is a speaker when it is no common word of any language ("Anna:", not "Note:"), or
    one that stands there again ("Will:"), the heads of notes apart."""
    if not label[0].isupper() and not WIDE.match(label):
        return False
    if label.casefold() in note_heads():
        return False
    return times > 1 or not any(is_common_anywhere(word) for word in label.split())


def prose_lines(text: str) -> Iterator[str]:
    """The lines of a message that a person may have said: no code, logs, tables, commands."""
    fenced = False
    block: "list[str]" = []
    for line in text.splitlines():
        if len(_FENCE.findall(line)) % 2:
            fenced = not fenced
            continue
        line = _EMOTICON.sub(" ", _DATA_URL.sub(" ", line)).strip()
        if fenced or not line:
            yield from _said_in(block)
            block = []
        elif not line.startswith(">"):
            block.append(line)
    yield from _said_in(block)


def _said_in(block: "Sequence[str]") -> Iterator[str]:
    """The prose of lines that stand together: nothing of them when most look pasted, nor what follows a prompt."""
    pasted = [_looks_pasted(line) for line in block]
    if 2 * sum(pasted) > len(block):
        return
    for line, is_pasted in zip(block, pasted):
        if _PROMPT.match(line):
            return
        if not is_pasted:
            yield line


def _looks_pasted(line: str) -> bool:
    head = line[:2000]
    if _CODE_LINE.match(head):
        return True
    if len(_LONG_TOKEN.sub("", head)) < len(head) // 2 and not WIDE.search(head):
        return True
    letters = sum(character.isalpha() for character in head)
    return len(_SYMBOLS.findall(head)) * 6 > len(head) or letters * 3 < len(head.replace(" ", ""))


def telling_sentences(text: str, most: int) -> "list[tuple[str, str]]":
    """The sentences of a message, each with the line it stands in. Of a message that has more than `most`, from each
    stretch the one whose words are rarest in it, so that the end is represented as well as the beginning."""
    found = [(sentence, line) for line in prose_lines(text) for sentence in sentences(line)]
    if len(found) <= most:
        return found
    counts = Counter(word for sentence, _line in found for word in set(sentence.split()))

    def rarity(item: "tuple[str, str]") -> float:
        return sum(1.0 / counts[word] for word in set(item[0].split()))

    bounds = [len(found) * place // most for place in range(most + 1)]
    return [max(found[start:end], key=rarity) for start, end in zip(bounds, bounds[1:])]


def sentences(line: str) -> Iterator[str]:
    """Split at sentence ends of any script; what has none is cut to pieces of at most `MAX_SENTENCE_CHARS`."""
    start = 0
    for end in _END.finditer(line):
        piece = line[start : end.end()]
        if end.group() == "." and _ABBREVIATION.search(piece[-12:]):
            continue
        start = end.end()
        yield from _pieces(piece.strip())
    yield from _pieces(line[start:].strip())


def _pieces(sentence: str) -> Iterator[str]:
    while len(sentence) > MAX_SENTENCE_CHARS:
        head = sentence[:MAX_SENTENCE_CHARS]
        cut = max(head.rfind(mark) for mark in (", ", "、", "，", "; ", " "))
        cut = cut + 1 if cut > MAX_SENTENCE_CHARS // 2 else MAX_SENTENCE_CHARS
        yield sentence[:cut].strip()
        sentence = sentence[cut:].strip()
    if sentence:
        yield sentence
