"""Keys, passwords and numbers of accounts: found in any text and replaced by a placeholder that names the kind.

Three ways to find one: by its shape (a key with a prefix, a card number with its check digit), by what is said about
it ("the PIN is ..."), and by its randomness. Every pattern is of bounded length or fails within a bounded length,
so that the time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Callable, NamedTuple, Optional

from _gate.randomness import has_random_run, looks_random
from _gate.statements import find_statements
from _transcripts.message import Message

Span = tuple[int, int, str]

# What a renderer does not show, or shows as style: a key is a key with these in it as well.
_HIDDEN = re.compile(
    "[\u200b-\u200f\u2060-\u206f\ufeff\u00ad\u034f\u061c\u180e\u202a-\u202e\ufe00-\ufe0f\ufff9-\ufffb\U000e0000-\U000e007f*`]+|\\\\(?=[_.~-])"
)
_PLACEHOLDER = re.compile(r"\[secret: [a-z ]{2,24}\]")
_ROUNDS = 6  # a placeholder can uncover nothing more after two or three rounds; the limit is for hostile text
_LONGEST_PEM = 20_000  # a 16,384-bit key is about 13,000 characters


class _Shape(NamedTuple):
    """A kind of secret that shows by its form. `hints`: one of these stands in any text that holds one."""

    kind: str
    hints: "tuple[str, ...]"
    pattern: "re.Pattern[str]"
    holds: Callable[[str], bool] = lambda found: True


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdecimal())


def _is_card(text: str) -> bool:
    """A payment card: issuer's prefix with its length, usual grouping, Luhn's check digit (ISO/IEC 7812)."""
    number = _digits(text)
    groups = [len(group) for group in re.split(r"[ -]", text)]
    if len(groups) > 1 and groups not in ([4, 4, 4, 4], [4, 6, 5], [4, 6, 4], [4, 4, 4, 4, 3], [6, 13]):
        return False
    if not re.fullmatch(
        r"4\d{15}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[068]\d{12}|35\d{14}|6(?:011|5|4|2)\d{12,17}", number
    ):
        return False
    total = 0
    for position, digit in enumerate(reversed(number)):
        value = int(digit) * (1 + position % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


# Lengths from the IBAN registry (SWIFT), by country.
_IBAN_LENGTHS = {
    15: "NO", 16: "BE", 18: "DK FI FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK", 21: "CH CR HR LI LV",
    22: "BG BH DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HU LB NI PL SV",
    29: "BR EG PS QA UA", 30: "JO KW MU", 31: "MT SC", 33: "RU",
}  # fmt: skip
_IBAN_LENGTH = {country: length for length, names in _IBAN_LENGTHS.items() for country in names.split()}
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d\d(?:[ -]?[A-Za-z0-9]){11,29}")


def _find_ibans(text: str) -> "Iterator[Span]":
    for found in _IBAN.finditer(text):
        wanted = _IBAN_LENGTH.get(found.group()[:2].upper(), 0)
        end, number = found.start(), ""
        while wanted and end < found.end() and len(number) < wanted:
            number += text[end] if text[end].isalnum() else ""
            end += 1
        if (
            wanted
            and len(number) == wanted
            and not text[end : end + 1].isalnum()
            and _iban_holds(number.upper())
        ):
            yield found.start(), end, "bank account"


def _iban_holds(number: str) -> bool:
    rotated = number[4:] + number[:4]
    return int("".join(str(int(character, 36)) for character in rotated)) % 97 == 1


def _is_basic(value: str) -> bool:
    """Base64 of "name:password"."""
    import base64
    import binascii

    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in plain and all(32 <= byte < 127 for byte in plain)


def _has_digit(text: str) -> bool:
    return any(character.isdecimal() for character in text)


_EDGE = r"(?<![A-Za-z0-9])"
_SHAPES = (
    _Shape("aws key", ("AKIA", "ASIA", "AROA", "AIDA", "ABIA", "ACCA"),
           re.compile(_EDGE + r"(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])")),
    _Shape("api key", ("sk-", "pk-", "rk-"), re.compile(_EDGE + r"[spr]k-[A-Za-z0-9_-]{16,}"), has_random_run),
    _Shape("stripe key", ("_live_", "_test_"), re.compile(_EDGE + r"[spr]k_(?:live|test)_[A-Za-z0-9]{10,}")),
    _Shape("webhook secret", ("whsec_",), re.compile(_EDGE + r"whsec_[A-Za-z0-9+/=_-]{16,}")),
    _Shape("github token", ("gh", "github_pat_"),
           re.compile(_EDGE + r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")),
    _Shape("gitlab token", ("gl",), re.compile(_EDGE + r"gl(?:pat|dt|rt|soat|ptt|ft|imt|agent|"
                                                       r"cbt)-[A-Za-z0-9_.-]{16,}"),
           _has_digit),
    _Shape("slack token", ("xox", "xapp-"), re.compile(_EDGE + r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}"), _has_digit),
    _Shape("google key", ("AIza", "ya29.", "GOCSPX-"),
           re.compile(_EDGE + r"(?:AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})")),
    _Shape("webhook", ("hooks.slack.com",),
           re.compile(r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[^\s\"'<>)\]]+")),
    _Shape("webhook", ("/api/webhooks/",),
           re.compile(r"https://(?:[a-z]{1,10}\.)?discord(?:app)?\.com/api/webhooks/[^\s\"'<>)\]]+")),
    _Shape("bot token", (":",), re.compile(r"(?<!\d)\d{8,10}:[A-Za-z0-9_-]{33,40}(?![A-Za-z0-9_-])")),
    _Shape("bot token", (".",),
           re.compile(r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}")),
    _Shape("npm token", ("npm_",), re.compile(_EDGE + r"npm_[A-Za-z0-9]{30,}")),
    _Shape("pypi token", ("pypi-",), re.compile(_EDGE + r"pypi-[A-Za-z0-9_-]{30,}"), has_random_run),
    _Shape("hugging face token", ("hf_",), re.compile(_EDGE + r"hf_[A-Za-z0-9]{20,}")),
    _Shape("api key", ("gsk_", "r8_", "pplx-", "xai-", "nvapi-", "tvly-", "lin_api_", "ntn_", "dop_v1_",
        "dckr_pat_", "figd_",
                       "sbp_", "tskey-", "shpat_", "shpss_", "shpca_", "shppa_", "secret_", "fw_", "key-", "sq0"),
           re.compile(_EDGE + r"(?:gsk_|r8_|pplx-|xai-|nvapi-|tvly-|lin_api_|ntn_|dop_v1_|dckr_pat_|figd_|"
                              r"sbp_|tskey-|"
                      r"shp(?:at|ss|ca|pa)_|secret_|fw_|key-|sq0[a-z]{3}-)[A-Za-z0-9_-]{20,}"), has_random_run),
    _Shape("api key", ("SG.",), re.compile(_EDGE + r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}")),
    _Shape("api key", ("SK",), re.compile(_EDGE + r"SK[0-9a-f]{32}(?![A-Za-z0-9])")),
    _Shape("private key", ("AGE-SECRET-KEY-",), re.compile(r"AGE-SECRET-KEY-1[A-Z0-9]{20,}")),
    _Shape("token", ("eyJ",),
           re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?")),
    _Shape("token", ("earer ", "EARER "),
           re.compile(r"(?i:\bbearer)\s{1,2}(?P<v>[A-Za-z0-9._~+/=-]{12,})"), _has_digit),
    _Shape("password", ("asic ", "ASIC "), re.compile(r"(?i:\bbasic)\s{1,2}(?P<v>[A-Za-z0-9+/]{8,}={0,2})"), _is_basic),
    _Shape("password", ("://",), re.compile(r"://[^\s/@:\"'<>]{0,100}:(?P<v>[^\s/\"'<>]{1,200})@(?=[A-Za-z0-9\[])")),
    _Shape("token", ("://",), re.compile(r"://(?P<v>[A-Za-z0-9_-]{20,200})@(?=[A-Za-z0-9])"), _has_digit),
    _Shape("password", ("-u", "--user"), re.compile(r"(?<!\S)(?:-u|--user)[ "
                                                    r"=][\"']?[^\s:\"']{1,100}:(?P<v>[^\s\"'@]{3,200})")),
    _Shape("token", ("=",), re.compile(
        r"(?i)[?&#;](?:access_token|refresh_token|id_token|auth_token|token|api_?key|apikey|key|secret|client_secret|"
        r"password|passwd|pwd|sig|signature|x-amz-signature|x-amz-security-token|auth|"
        r"code)=(?P<v>[^&\s#\"'<>)\]]{6,})"),
        _has_digit),
    _Shape("one time password key", ("otpauth",), re.compile(r"otpauth(?:-migration)?://[^\s\"'<>]+")),
    _Shape("password", ("WIFI:",), re.compile(r"WIFI:[^\n]{0,120}?P:(?P<v>[^;\n]{1,80});")),
    _Shape("ssh key", ("AAAA",), re.compile(r"(?<![A-Za-z0-9+/])AAAA[BCE][A-Za-z0-9+/]{30,}={0,3}")),
    _Shape("card number", ("0", "1", "2", "3", "4", "5", "6"), re.compile(r"(?<![A-Za-z0-9_.,-])\d(?:[ "
                                                                          r"-]?\d){12,18}(?![A-Za-z0-9_-])"), _is_card),
)  # fmt: skip

_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
_PEM_BODY = re.compile(r"(?:[A-Za-z0-9+/=\s:,.-]|\\[nr])*")
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]{1,15}://\S+|(?<![A-Za-z0-9+/=])(?:~|\.{1,2})?(?:/[\w.@+%-]+){2,}|(?<!\w)[A-Za-z]:\\\S+"
)
_LONG_TOKEN = re.compile(r"[A-Za-z0-9_+/-]{32,}={0,3}")


def mask_secrets(text: str) -> "tuple[str, int]":
    """Replace every secret by a placeholder such as "[secret: aws key]": (the masked text, how many were replaced).

    Masking what is masked changes nothing. The sentence around a secret stays ("the PIN is [secret: pin]").
    """
    total = 0
    for _round in range(_ROUNDS):
        text, count = _mask_once(text)
        total += count
        if not count:
            break
    return text, total


def mask_messages(window: Iterable[Message]) -> "tuple[tuple[Message, ...], int]":
    """The same messages with masked texts, and how many secrets were masked in all of them."""
    masked, total = [], 0
    for message in window:
        text, count = mask_secrets(message.text)
        masked.append(replace(message, text=text) if count else message)
        total += count
    return tuple(masked), total


def _mask_once(text: str) -> "tuple[str, int]":
    seen, offsets = _visible(text)
    # Line breaks in place of the placeholders: no value contains them and no statement reaches across them.
    seen = _PLACEHOLDER.sub(lambda found: "\n" * len(found.group()), seen)
    spans = _merge(_spans(seen))
    parts, last = [], 0
    for start, end, kind in spans:
        begin, stop = (offsets[start], offsets[end - 1] + 1) if offsets is not None else (start, end)
        parts += [text[last:begin], f"[secret: {kind}]"]
        last = stop
    return "".join(parts) + text[last:], len(spans)


def _visible(text: str) -> "tuple[str, Optional[list[int]]]":
    """The text as a reader sees it, and the place in the original of each of its characters (None: unchanged)."""
    offsets: "list[int]" = []
    last = 0
    for found in _HIDDEN.finditer(text):
        offsets.extend(range(last, found.start()))
        last = found.end()
    if not last:
        return text, None
    offsets.extend(range(last, len(text)))
    return _HIDDEN.sub("", text), offsets


def _spans(text: str) -> "list[Span]":
    spans: "list[Span]" = list(_find_pem(text))
    for shape in _SHAPES:
        if any(hint in text for hint in shape.hints):
            spans.extend(_find_shape(shape, text))
    spans.extend(_find_ibans(text))
    spans.extend(find_statements(text))
    spans.extend(_find_random(text))
    return spans


def _find_shape(shape: _Shape, text: str) -> "Iterator[Span]":
    group = "v" if "v" in shape.pattern.groupindex else 0
    for found in shape.pattern.finditer(text):
        if shape.holds(found.group(group)):
            start, end = found.span(group)
            yield start, end, shape.kind


def _find_pem(text: str) -> "Iterator[Span]":
    """Whole blocks; of one that was cut, everything that can belong to it."""
    if "PRIVATE KEY" not in text:
        return
    ends = [found.end() for found in _PEM_END.finditer(text)]
    done = 0
    for found in _PEM_BEGIN.finditer(text):
        if found.start() < done:
            continue
        place = bisect_right(ends, found.end())
        if place < len(ends) and ends[place] - found.end() <= _LONGEST_PEM:
            done = ends[place]
        else:
            body = _PEM_BODY.match(text, found.end(), found.end() + _LONGEST_PEM)
            done = body.end() if body else found.end()
        yield found.start(), done, "private key"


def _find_random(text: str) -> "Iterator[Span]":
    """Long random tokens. What stands in an address or a path is an identifier more often than a secret."""
    if not _LONG_TOKEN.search(text):
        return
    bare = _ADDRESS.sub(lambda found: "\n" * len(found.group()), text)
    for found in _LONG_TOKEN.finditer(bare):
        if looks_random(found.group()):
            yield found.start(), found.end(), "token"


def _merge(spans: "Sequence[Span]") -> "list[Span]":
    """In order, overlapping ones as one under the name of the first."""
    merged: "list[Span]" = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), merged[-1][2])
        else:
            merged.append((start, end, kind))
    return merged
