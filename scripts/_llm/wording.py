"""The text of an answer, freed of what models and servers wrap around it."""

from __future__ import annotations

import re

from _llm.question import AttemptFailed

_THINK = r"(?:think|thinking|thought|reasoning|seed:think)"
# An opening tag counts at the start of a line only: a note about such tags has them in the middle of one.
_OPEN = re.compile(rf"^[ \t]*(?:<{_THINK}>|\[THINK\]|◁think▷)", re.IGNORECASE | re.MULTILINE)
_CLOSE = re.compile(rf"</{_THINK}>|\[/THINK\]|◁/think▷", re.IGNORECASE)
# A model in a loop opens and closes thoughts without end.
_MOST_THOUGHTS = 50
_HARMONY_FINAL = re.compile(r"<\|channel\|>\s{0,9}final\b(?:[^<]|<\|constrain\|>){0,99}<\|message\|>")
_HARMONY_END = re.compile(r"<\|(?:end|return|start|channel)\|>")
# Markers eaten by the server: "analysisThe user wants...assistantfinal- the answer".
_EATEN = re.compile(r"analysis(?=[A-Z\s'\"])")
_EATEN_FINAL = re.compile(r"assistant\s*final(?:\s*message)?")
_END_MARKS = (
    "<|end|>",
    "<|return|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "</s>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
)
_FENCE = re.compile(r"^ {0,3}(?:```+|~~~+)[\w+-]*[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"^[ \t]*(?:[-*+] |Date:|NO_OBSERVATIONS\b)", re.MULTILINE)
_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060\u00ad"

# Sentences that gateways deliver as if the model had said them. Only at the start of a short text.
_GATEWAY = re.compile(
    r"""[\[\s(!⚠❌\ufe0f]{0,4}(?:\*\*)?(?:
      (?:api\s|upstream\s|provider\s|gateway\s|server\s|request\s|internal\s)*error\s*(?:code)?\s*(?::|\d{3}|[—-])
    | error\s*$ | error\]
    | \[?(?:api|upstream|provider|gateway|internal\sserver)\s+error\b
    | (?:an?\s)?(?:internal\s|unexpected\s|unknown\s|upstream\s)*error\s(?:has\s)?occurred
    | (?:the\s)?(?:upstream|provider|model\sprovider)\s+(?:returned|responded|failed|is\s(?:currently\s)?unavailable)
    | provider\sreturned\serror
    | request\sfailed\b
    | (?:the\s)?request\s(?:has\s)?(?:timed\sout|was\s(?:blocked|rejected))
    | (?:daily\s|monthly\s|api\s|free\s)*(?:rate\slimit|quota)\s(?:has\sbeen\s|was\s|is\s)?(?:exceeded|reached)
    | (?:you\shave\s|you've\s)(?:exceeded|reached|hit)\syour\s.{0,40}(?:quota|limit)
    | too\smany\srequests
    | (?:all|no)\s(?:available\s)?(?:providers?|accounts?|endpoints?|channels?|upstreams?)\b.{0,60}
      (?:fail|unavailable|available|found|exhausted)
    | (?:the\s)?(?:service|model|server)\s(?:is\s)?(?:currently\s|temporarily\s)*
      (?:unavailable|overloaded|not\savailable|busy)
    | (?:502\s)?bad\sgateway | (?:504\s)?gateway\stime-?out | (?:503\s)?service\s(?:temporarily\s)?unavailable
    | insufficient\s(?:credits?|balance|quota|funds)
    | (?:invalid|incorrect|missing)\sapi\skey
    | <!doctype\shtml | <html | \{\s*"(?:error|detail)"\s*:
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def clean_answer(raw: str) -> str:
    """The answer in `raw`: no thoughts, last channel only, outer code fence off, never blank.

    Raises AttemptFailed "empty" when nothing but thoughts is there, and "server" when a gateway's error message
    stands in the answer's place.
    """
    text = raw.replace("\r\n", "\n").strip(_INVISIBLE + " \t\n\r")
    text = _without_thoughts(_final_channel(text))
    text = _unfenced(_without_end_marks(text)).strip(_INVISIBLE + " \t\n\r")
    if not text:
        raise AttemptFailed(
            "empty", "the answer was blank" if not raw.strip() else "the answer was thoughts only"
        )
    if len(text) < 600 and _GATEWAY.match(text):
        raise AttemptFailed("server", "an error message came in place of the answer", text)
    return text


def _final_channel(text: str) -> str:
    """Harmony (gpt-oss): what the final channel says. Markers inside an ordinary answer are left alone."""
    if text.startswith("<|"):
        finals = list(_HARMONY_FINAL.finditer(text))
        if finals:
            return _HARMONY_END.split(text[finals[-1].end() :], maxsplit=1)[0]
        if "<|channel|>" in text:
            return ""
        return re.sub(r"^(?:<\|start\|>\s*assistant|<\|message\|>|\s)+", "", text)
    started = _EATEN.match(text)
    final = _EATEN_FINAL.search(text) if started or text.startswith("assistant") else None
    if final:
        return text[final.end() :]
    # "analysisWe need to": glued like this it is the channel's name, with no answer after it.
    return "" if started and re.match(r"analysis[A-Z]", text) else text


def _without_thoughts(text: str) -> str:
    """Closed thoughts are dropped, so is what stands before a lone closing tag; an unclosed one leaves no answer."""
    for _ in range(_MOST_THOUGHTS):
        opened = _OPEN.search(text)
        before = text[: opened.start()] if opened else text
        lone = _lone_close(before)
        if lone:
            text = text[lone:]
        elif not opened:
            return text
        else:
            closed = _CLOSE.search(text, opened.end())
            if not closed:
                return ""
            text = before + text[closed.end() :]
    return ""


def _lone_close(text: str) -> int:
    """Where the text after the last closing tag begins; 0 for none. A list line that mentions the tag has none."""
    for found in reversed(list(_CLOSE.finditer(text))):
        line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()].strip()
        if not re.match(r"[-*+•]\s", line):
            return found.end()
    return 0


def _without_end_marks(text: str) -> str:
    text = text.rstrip()
    while text.endswith(_END_MARKS):
        text = next(text[: -len(mark)] for mark in _END_MARKS if text.endswith(mark)).rstrip()
    return text


def _unfenced(text: str) -> str:
    """Without one outer code fence, and without the prose around it when all entries are inside."""
    fences = list(_FENCE.finditer(text))
    if not fences:
        return text
    first, last = fences[0], fences[-1]
    if len(fences) > 2 and (text[: first.start()].strip() or text[last.end() :].strip()):
        return text
    if len(fences) == 1:
        inside, around = text[first.end() :], text[: first.start()]
    else:
        inside, around = text[first.end() : last.start()], text[: first.start()] + text[last.end() :]
    if not inside.strip() or _ENTRY.search(around):
        return _FENCE.sub("", text)
    return inside
