"""What a provider's refusal means: HTTP statuses and error objects, told waits, and text that is safe to show."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Optional
from urllib.parse import unquote

from _compat import from_epoch_ms, parse_instant
from _likeness import WIDE
from _llm.memo import LONGEST_HOLD
from _llm.question import Attempt, AttemptFailed, ModelsFailed

MESSAGE_CHARS = 200
# What providers explain errors with: said or not, these words tell nothing of a conversation.
_WORDS_OF_ERRORS = frozenset(
    """a about access account add after again all allowed amount an and api are as at available balance be because been
    before by can cannot canceled cause check code com completion content context could count credit credits currently
    daily data day days denied does down endpoint error errors exceed exceeded exceeds expired failed field filter for
    format found free from gateway given has have header hour hours http https id if in input instead insufficient
    internal invalid is it its key length less limit limited limits loaded long longer max maximum maybe message
    messages minute minutes missing model models more must near next no not of on one only open or order organization
    output overloaded parameter per permission please policy prompt provider providers quota rate reached read reason
    reduce refused request requests required response retry see seconds server service size small stop support supported
    temporarily than that the there this time timeout to token tokens too try type unauthorized unavailable unknown
    unsupported until up upgrade upstream url use used user using valid value was were will with without you your
    """.split()
)


class PromptCut(ModelsFailed):
    """The question is longer than the model reads: ask smaller pieces.

    `seen_tokens` is what the model did read, None when it refused without saying.
    """

    code = "prompt_cut"

    def __init__(
        self, message: str, hint: str, attempts: "tuple[Attempt, ...]", seen_tokens: Optional[int]
    ) -> None:
        super().__init__(message, hint, attempts)
        self.seen_tokens = seen_tokens


# The order matters: the first row whose text matches decides, before the status does.
_BY_TEXT: "tuple[tuple[str, str, re.Pattern[str]], ...]" = tuple(
    (kind, sentence, re.compile(pattern, re.IGNORECASE))
    for kind, sentence, pattern in (
        (
            "too_long",
            "the question is longer than this model takes",
            r"context.{0,20}(?:length|window|size)|too many (?:input )?tokens|reduce the length"
            r"|(?:prompt|input|request) (?:is )?too (?:long|large)|maximum prompt length",
        ),
        (
            "bad_key",
            "the key was refused",
            r"(?:invalid|incorrect|wrong|missing|no|expired|revoked) (?:\w+ )?"
            r"(?:api[ _-]?key|auth(?:entication|orization)? credentials|token\b)"
            r"|api[ _-]?key (?:is |was )?(?:not valid|invalid|missing|expired|not found)|invalid_api_key",
        ),
        (
            "no_credit",
            "no credit is left",
            r"insufficient[ _](?:credit|balance|quota|fund)|out of credits|requires more credits|billing_hard_limit",
        ),
        (
            "gone",
            "the model is gone",
            r"not a valid model|model_not_found|model.{0,120}(?:decommissioned|deprecated|retired)"
            r"|no endpoints found|(?:unknown|invalid|unsupported|no such) model|end of life"
            r"|no longer (?:available|supported)|function.{0,120}not found"
            r"|model.{0,120}(?:does not exist|not found|is not supported|is not available)",
        ),
    )
)
_TEXT_DECIDES = frozenset({400, 403, 404, 413, 422, 429})
_BY_STATUS = {
    401: ("bad_key", "the key was refused"),
    402: ("no_credit", "no credit is left"),
    403: ("bad_key", "the key was refused"),
    404: ("gone", "the model is gone"),
    408: ("server", "the provider failed"),
    409: ("server", "the provider failed"),
    410: ("gone", "the model is gone"),
    413: ("too_long", "the question is longer than this model takes"),
    425: ("server", "the provider failed"),
    429: ("rate_limited", "rate limited"),
    451: ("refused", "the provider refused the question"),
}
_MODERATED = re.compile(r"moderation|flagged|content (?:policy|filter)|safety", re.IGNORECASE)
_NOT_THE_KEY = re.compile(
    r"region|country|territory|permission|not allowed to|access to (?:the )?model", re.IGNORECASE
)
# Fields some servers do not take, told by their complaint. The one place where requests of a question differ.
_COMPLAINTS = (
    ("max_tokens", re.compile(r"max_completion_tokens", re.IGNORECASE)),
    ("temperature", re.compile(r"temperature", re.IGNORECASE)),
    ("reasoning", re.compile(r"\breasoning\b", re.IGNORECASE)),
    (
        "system",
        re.compile(
            r"(?:system|developer)[ _](?:instruction|message|role|prompt)s?\b.{0,60}(?:not|n't) ",
            re.IGNORECASE,
        ),
    ),
)
_STATUS_WORDS = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "too_many_requests": 429,
    "resource_exhausted": 429,
    "insufficient_quota": 402,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "unauthenticated": 401,
    "model_not_found": 404,
    "model_decommissioned": 404,
    "not_found": 404,
    "context_length_exceeded": 413,
    "invalid_request_error": 400,
    "content_filter": 451,
}


def refusal(
    status: int, said: str, headers: Mapping[str, str], now: datetime, is_json: bool = True
) -> AttemptFailed:
    """What the HTTP `status` (or the code inside a 200) with the error text `said` means. `headers` in lower case."""
    wait = told_wait(headers, now)
    kind, sentence = _meaning(status, said, is_json)
    complaint = ""
    if status in (400, 422) and kind != "too_long":
        complaint = next((name for name, pattern in _COMPLAINTS if pattern.search(said)), "")
    return AttemptFailed(kind, sentence, said, wait, complaint)


def meaning_of(said: str) -> "Optional[tuple[str, str]]":
    """(kind, sentence) where a provider's words alone say what is wrong, else None."""
    return next(((kind, sentence) for kind, sentence, pattern in _BY_TEXT if pattern.search(said)), None)


def _meaning(status: int, said: str, is_json: bool) -> "tuple[str, str]":
    """(kind, sentence) for an HTTP status of 400 or more."""
    told = meaning_of(said) if status in _TEXT_DECIDES else None
    if told and (status != 429 or told[0] == "no_credit"):
        return told[0], f"{told[1]} (HTTP {status})"
    if status == 404 and not is_json:
        return "not_found", "nothing is at this address (HTTP 404)"
    if status == 403 and _MODERATED.search(said):
        status = 451
    elif status == 403 and _NOT_THE_KEY.search(said):
        return "no_access", "this model is not open to this account (HTTP 403)"
    if status in _BY_STATUS:
        kind, sentence = _BY_STATUS[status]
    elif status >= 500:
        kind, sentence = "server", "the provider failed"
    else:
        kind, sentence = "bad_request", "the request was refused"
    return kind, f"{sentence} (HTTP {status})"


def error_in(body: object) -> "Optional[tuple[int, str, dict[str, str]]]":
    """(status, text, headers) of the error that a decoded body carries, None when it carries none.

    Gateways answer 200 with an error in the body, at the top or in the choice; OpenRouter repeats the headers of a
    rate limit inside it. A code that is no HTTP status counts as 502.
    """
    if not isinstance(body, Mapping):
        return None
    error = body.get("error")
    if not error:
        return None
    if not isinstance(error, Mapping):
        return _status_of(error, 502), str(error), {}
    metadata = error.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    said = _first_text(error, ("message", "detail", "error", "msg")) or _first_text(
        error, ("type", "code", "status")
    )
    raw, code = metadata.get("raw"), error.get("code")
    if isinstance(raw, str):
        said = f"{said}: {raw}"
    if isinstance(code, str) and code.strip() and not code.strip().isdigit() and code not in said:
        said = f"{said} [{code}]"
    headers = metadata.get("headers")
    found = {str(k).lower(): str(v) for k, v in headers.items()} if isinstance(headers, Mapping) else {}
    status = next(
        (code for code in (_status_of(error.get(name), 0) for name in ("code", "type", "status")) if code),
        502,
    )
    return status, said, found


def error_text(raw: bytes) -> "tuple[str, bool, dict[str, str]]":
    """The provider's own words in the body of an HTTP error, whether it was JSON, and headers repeated in it."""
    text = raw[:65536].decode("utf-8-sig", "replace").strip()
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        words = re.sub(r"(?is)<(style|script|head)\b.*?</\1>", " ", text[:8192])
        return re.sub(r"<[^>]{0,500}>", " ", words), False, {}
    if isinstance(body, list) and body:
        body = body[0]
    found = error_in(body)
    if found:
        return found[1], True, found[2]
    if isinstance(body, Mapping):
        return _first_text(body, ("message", "detail", "title", "msg", "errors")), True, {}
    return "", True, {}


def _first_text(body: "Mapping[Any, Any]", names: "tuple[str, ...]") -> str:
    """The first of these fields that holds a text. Of a list (pydantic's) only `msg`: its `input` is our question."""
    for name in names:
        found = body.get(name)
        if isinstance(found, list) and found and isinstance(found[0], Mapping):
            found = found[0].get("msg") or found[0].get("message")
        if isinstance(found, Mapping):
            found = found.get("message")
        if isinstance(found, (str, int)) and not isinstance(found, bool) and str(found).strip():
            return str(found)
    return ""


def _status_of(code: object, default: int) -> int:
    if isinstance(code, (int, float)) and not isinstance(code, bool):
        return int(code) if 400 <= code < 600 else default
    if isinstance(code, str):
        if re.fullmatch(r"[45]\d\d", code.strip()):
            return int(code)
        return _STATUS_WORDS.get(code.strip().lower(), default)
    return default


def told_wait(headers: Mapping[str, str], now: datetime) -> Optional[timedelta]:
    """How long the provider asks us to wait, 0 to 24 hours; None when it does not say, or says nonsense.

    `Retry-After`: seconds, a duration ("1m2s") or an HTTP date. `X-RateLimit-Reset`: epoch seconds or milliseconds,
    seconds from now, a duration or a date.
    """
    for name in ("retry-after", "x-ratelimit-reset"):
        wait = _one_wait(headers.get(name, ""), now)
        if wait is not None:
            return min(max(wait, timedelta(0)), LONGEST_HOLD)
    return None


def _one_wait(value: str, now: datetime) -> Optional[timedelta]:
    value = value.strip()
    try:
        number = float(value)
    except ValueError:
        return _duration(value) or _until_date(value, now)
    if not math.isfinite(number) or number < 0:
        return None
    if number >= 1e8:  # a moment: 1e8 seconds is in 1973, in milliseconds it begins at 1e11
        moment = from_epoch_ms(number if number >= 1e11 else number * 1000)
        return LONGEST_HOLD if moment is None else moment - now
    return timedelta(seconds=number)


def _duration(value: str) -> Optional[timedelta]:
    """Groq's "2m59.5s", "170ms"."""
    if not value or not re.fullmatch(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+", value):
        return None
    units = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", value[:60])
    return timedelta(seconds=min(sum(float(n) * units[unit] for n, unit in parts), 86400.0 * 365))


def _until_date(value: str, now: datetime) -> Optional[timedelta]:
    try:
        moment: Optional[datetime] = parsedate_to_datetime(value)
    except (TypeError, ValueError, IndexError, OverflowError):
        moment = parse_instant(value)
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)) - now


def attempt(model: str, problem: AttemptFailed, key: str, conversation: str) -> Attempt:
    """The Attempt to tell of: our sentence, then what the provider said as far as that is safe to show."""
    said = safe_text(problem.said, key, conversation)
    message = f"{problem.sentence}: {said}" if said else problem.sentence
    return Attempt(
        model, problem.kind, message[: MESSAGE_CHARS - 1] + "…" if len(message) > MESSAGE_CHARS else message
    )


def safe_text(text: str, key: str, conversation: str) -> str:
    """One short line of `text` with keys masked, or a remark in its place when it repeats the conversation."""
    line = re.sub(r"\s+", " ", re.sub(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e]", " ", text[:4000])).strip()
    pieces = [key[at : at + 8] for at in range(max(1, len(key) - 7))] if key else []
    line = re.sub(
        r"[^\s\"',;()<>\[\]{}]+", lambda m: "***" if any(p in m.group() for p in pieces) else m.group(), line
    )
    line = re.sub(r"(?i)\b(bearer|basic)\s+[^\s*]+", r"\1 ***", line)
    line = re.sub(r"\b(?:sk|gsk|pk|rk|xai|nvapi|hf|AIza)[-_][\w*.-]{4,}|\bAIza[\w-]{10,}", "***", line)
    line = re.sub(r"\b(?=[A-Za-z_]*\d)(?=[\d_]*[A-Za-z])[A-Za-z0-9_]{24,}\b", "***", line)
    line = line[:MESSAGE_CHARS]
    flat = re.sub(r"\s+", " ", conversation)
    if any(line[at : at + 24] in flat for at in range(len(line) - 23)):
        return "(it repeated our question, left out here)"
    return _without_said(line, conversation)


def _without_said(line: str, conversation: str) -> str:
    """The line without words that may come from the conversation, in whatever case or encoding: all that stand in it,
    but for those that providers explain errors with."""
    said = set(re.findall(r"[^\W_]+", unquote(conversation).casefold())) - _WORDS_OF_ERRORS

    def mask(match: "re.Match[str]") -> str:
        return "…" if match.group().casefold() in said else match.group()

    line = re.sub(r"[^\W_]+", mask, WIDE.sub("…", unquote(line)))
    return re.sub(r"…(?:[\s'’-]*…)+", "…", line)
