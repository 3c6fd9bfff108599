"""What is asked, what comes back, and the ways in which no usable answer comes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Optional

from _errors import ConfigError, ModelError

# Chinese, Japanese, Korean.
_DENSE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]")


@dataclass(frozen=True)
class Question:
    """`system` is the part that repeats, so that providers can cache it; `max_tokens` includes reasoning."""

    system: str
    user: str
    max_tokens: int = 4096

    def __post_init__(self) -> None:
        if not self.user.strip() or self.max_tokens < 1:
            raise ValueError("a question needs a text and at least one token for the answer")


@dataclass(frozen=True)
class Answer:
    """A model's answer: the final text without thoughts and without an outer code fence; never blank.

    `cut` is true when the model stopped at its token limit, so that the end is missing. Token counts are the
    provider's own, None when it gave none.
    """

    text: str
    model: str
    cut: bool
    prompt_tokens: Optional[int]
    completion_tokens: Optional[int]


@dataclass(frozen=True)
class Attempt:
    """What went wrong with one model: a code word and a sentence without keys or conversation, at most 200 characters.

    Kinds: gone, not_found, no_credit, bad_key, no_access, rate_limited, server, timeout, unreachable, tls, redirected,
    program, bad_request, bad_reply, empty, refused, refused_by_caller, prompt_cut, too_long.
    """

    model: str
    kind: str
    message: str


@dataclass(frozen=True)
class Limits:
    """How long one question may take. `total_seconds` is for one request, also when the server trickles bytes.

    `patience_seconds` is what may be waited between requests, over the whole chain; `start_seconds` is added for
    OpenClaw's program, which takes 5-9 seconds to start, and over 30 on a busy machine.
    """

    patience_seconds: float = 20.0
    connect_seconds: float = 10.0
    total_seconds: float = 120.0
    start_seconds: float = 60.0
    max_bytes: int = 8 * 1024 * 1024


class AttemptFailed(Exception):
    """One request gave no usable answer. `said` is the provider's own text: not safe to show before `safe_text`."""

    def __init__(
        self,
        kind: str,
        sentence: str,
        said: str = "",
        wait: Optional[timedelta] = None,
        complaint: str = "",
        tokens: int = 0,
    ) -> None:
        super().__init__(kind, sentence)
        self.kind = kind
        self.sentence = sentence
        self.said = said
        self.wait = wait  # what the provider told us to wait; None when it did not say
        self.complaint = complaint  # the field of the request that this server does not take
        self.tokens = tokens  # what the failed request has cost
        self.seen: Optional[int] = None  # how many tokens of the question the model read


class ModelsFailed(ModelError):
    """Every model of the chain was tried, or the address itself failed. `attempts` says what happened to each."""

    def __init__(self, message: str, hint: str, attempts: "tuple[Attempt, ...]") -> None:
        super().__init__(message, hint)
        self.attempts = attempts


class KeyRefused(ConfigError):
    """The provider does not take the key."""

    code = "key_refused"


def least_tokens(text: str) -> int:
    """A low estimate, for telling that a server did not read everything.

    Runs of one character and of white space cost next to nothing, and today's tokenizers pack about three Chinese
    or Japanese characters into two tokens.
    """
    short = re.sub(r"(\S)\1{3,}", r"\1\1\1", re.sub(r"\s+", " ", text))
    dense = len(_DENSE.findall(short))
    return (dense * 7) // 10 + (len(short) - dense) // 4
