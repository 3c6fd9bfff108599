"""The body of an HTTP answer, read: JSON or a stream of events, whatever stands around it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, Optional

from _llm.failures import error_in, refusal
from _llm.question import Answer, AttemptFailed, Question, least_tokens
from _llm.wording import clean_answer
from _observations import estimate_tokens

# A token is rarely longer: an answer beyond this came from a server that ignores max_tokens.
CHARS_PER_TOKEN = 16
# Below this an estimate is too rough to tell a cut prompt by.
SURE_FROM_TOKENS = 600


class Usage(NamedTuple):
    """Tokens that the provider counted; None where it did not."""

    prompt: Optional[int]
    completion: Optional[int]
    cached: int


def read_reply(
    raw: bytes, model: str, question: Question, headers: Mapping[str, str], now: datetime
) -> Answer:
    """The Answer in the body of an HTTP 2xx. Raises AttemptFailed for whatever is not one."""
    body = decode_body(raw)
    choice, usage = _choice(body), _usage(body)
    for found in (error_in(body), error_in(choice)):
        if found:
            raise _costing(refusal(found[0], found[1], {**headers, **found[2]}, now), usage)
    if choice is None:
        raise _costing(AttemptFailed("bad_reply", "the reply holds no choices"), usage)
    try:
        text, cut = _text_of(choice, question)
        _check_prompt_was_read(usage, question)
    except AttemptFailed as problem:
        raise _costing(problem, usage) from None
    return Answer(text, model, cut, usage.prompt, usage.completion)


def spent(prompt: Optional[int], completion: Optional[int], question: Question, text: str) -> int:
    """Tokens that a question has cost: what the provider counted, else our estimate."""
    asked = estimate_tokens(question.system + question.user) if prompt is None else prompt
    return asked + (estimate_tokens(text) if completion is None else completion)


def decode_body(raw: bytes) -> "Mapping[str, Any]":
    """The JSON object in `raw`; chunks of an event stream are put together into the shape of a plain answer."""
    text = raw.decode("utf-8-sig", "replace").lstrip("\ufeff \t\r\n\0")
    while text.startswith(":"):  # a comment of the event stream, sent to keep the connection alive
        text = text.partition("\n")[2].lstrip()
    if not text:
        raise AttemptFailed("bad_reply", "the reply was empty")
    # Not splitlines: JSON texts hold U+2028 and its like as they are.
    return (
        _joined(text.split("\n")) if text.startswith(("data:", "event:", "id:", "retry:")) else _object(text)
    )


def _object(text: str) -> "Mapping[str, Any]":
    try:
        found, _end = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        raise AttemptFailed("bad_reply", "the reply was not JSON", text[:400]) from None
    if isinstance(found, list) and found:
        found = found[0]
    if not isinstance(found, Mapping):
        raise AttemptFailed("bad_reply", "the reply was not a JSON object")
    return found


def _joined(lines: "list[str]") -> "Mapping[str, Any]":
    """One answer out of the chunks of an event stream. Without an end mark it broke off: AttemptFailed."""
    parts: "list[str]" = []
    whole: "dict[str, Any]" = {}
    finish: Optional[str] = None
    ended = False
    for line in lines:
        if not line.lstrip().startswith("data:"):
            continue
        data = line.lstrip()[5:].strip()
        if data == "[DONE]":
            ended = True
            break
        chunk = _object(data)
        choice = _choice(chunk)
        whole.update({name: chunk[name] for name in ("error", "usage") if chunk.get(name)})
        if choice is None:
            continue
        if choice.get("error"):
            whole["error"] = choice["error"]
        finish = choice.get("finish_reason") or finish
        piece = choice.get("delta") or choice.get("message")
        parts.append(_joined_content(piece.get("content") if isinstance(piece, Mapping) else None))
    if not (ended or finish or whole.get("error")):
        raise AttemptFailed("bad_reply", "the stream broke off")
    whole["choices"] = [{"message": {"content": "".join(parts)}, "finish_reason": finish}]
    return whole


def _choice(body: "Mapping[str, Any]") -> "Optional[Mapping[str, Any]]":
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, Mapping) else None


def _text_of(choice: "Mapping[str, Any]", question: Question) -> "tuple[str, bool]":
    """(answer, cut). Fields that hold reasoning are never looked at: thoughts are no answer."""
    finish = str(choice.get("finish_reason") or "").lower()
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {}
    raw = _joined_content(message.get("content", choice.get("text")))
    if finish == "error":
        raise AttemptFailed("server", "the provider failed in the middle of the answer")
    if finish in ("content_filter", "safety") or (not raw.strip() and message.get("refusal")):
        raise AttemptFailed("refused", "the model refused the question")
    cut = finish in ("length", "max_tokens", "max_output_tokens")
    if cut and not raw.strip():
        raise AttemptFailed(
            "empty", f"all {question.max_tokens} tokens went into thoughts, none was left for the answer"
        )
    longest = question.max_tokens * CHARS_PER_TOKEN
    text = clean_answer(raw[: 4 * longest])
    return text[:longest], cut or len(text) > longest


def _joined_content(content: object) -> str:
    """The text of `content`: a string, or a list of parts of which only those of text count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and part.get("type", "text") in ("text", "output_text"):
            text = part.get("text")
            texts.append(text if isinstance(text, str) else "")
    return "".join(texts)


def _usage(body: "Mapping[str, Any]") -> Usage:
    usage = body.get("usage")
    if not isinstance(usage, Mapping):
        return Usage(None, None, 0)
    details = usage.get("prompt_tokens_details")
    cached = _tokens(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return Usage(_tokens(usage.get("prompt_tokens")), _tokens(usage.get("completion_tokens")), cached or 0)


def _tokens(found: object) -> Optional[int]:
    """A believable count, else None. 0 prompt tokens is what servers write that do not count."""
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found < 100_000_000:
        return None
    return int(found)


def _check_prompt_was_read(usage: Usage, question: Question) -> None:
    """Ollama reads `num_ctx` tokens (4096 unless set) of a longer prompt and answers as if nothing was missing.

    It then reports a round number. Some gateways leave cached tokens out of the sum, so they count as read.
    """
    least = least_tokens(question.system + question.user)
    if usage.prompt is None or least < SURE_FROM_TOKENS:
        return
    seen = usage.prompt + usage.cached
    if seen < least // 2 or (seen % 1024 == 0 and seen < least * 4 // 5):
        raise AttemptFailed("prompt_cut", f"it read only {seen} of about {least} tokens of the question")


def _costing(problem: AttemptFailed, usage: Usage) -> AttemptFailed:
    """The failure, with the tokens that the provider counted for it."""
    problem.tokens = (usage.prompt or 0) + (usage.completion or 0)
    problem.seen = usage.prompt
    return problem
