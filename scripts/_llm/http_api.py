"""Asking over HTTP: any server that speaks OpenAI's chat completions. The home of `requests`."""

from __future__ import annotations

import ipaddress
import json
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Callable, Optional
from urllib.parse import urlsplit

from _config import Config
from _errors import ConfigError, MissingPackage
from _llm.failures import attempt, error_text, refusal
from _llm.question import Answer, AttemptFailed, KeyRefused, Limits, ModelsFailed, Question
from _llm.reply import decode_body, read_reply

if TYPE_CHECKING:
    import requests


@dataclass(frozen=True)
class Exchanged:
    """One HTTP answer; header names in lower case, the body uncompressed."""

    status: int
    headers: "Mapping[str, str]"
    body: bytes


def complete(
    question: Question, model: str, config: Config, limits: Limits, now: datetime, without: "frozenset[str]"
) -> Answer:
    """One request to one model. `without` names fields this server complained about ("temperature" ...).

    Raises AttemptFailed, ConfigError for a key that cannot be sent, MissingPackage without requests.
    """
    body = json.dumps(request_body(question, model, config, without), ensure_ascii=False)
    found = _exchange(
        "POST", config.base_url + "/chat/completions", config, limits, body.encode("utf-8", "replace")
    )
    _refuse_errors(found, config, now)
    return read_reply(found.body, model, question, found.headers, now)


def request_body(
    question: Question, model: str, config: Config, without: "frozenset[str]" = frozenset()
) -> "dict[str, Any]":
    """The request object: the same for every attempt but for the model. Only fields that every server knows."""
    messages = [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}]
    if "system" in without or not question.system.strip():
        messages = [{"role": "user", "content": f"{question.system}\n\n{question.user}".strip()}]
    limit_name = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
    body: "dict[str, Any]" = {
        "model": model,
        "messages": messages,
        limit_name: question.max_tokens,
        "stream": False,
    }
    if "temperature" not in without:
        body["temperature"] = 0
    if _is_openrouter(config) and "reasoning" not in without:
        body["reasoning"] = {"exclude": True, "effort": "low"}
    return body


def offered_models(config: Config, now: datetime, limits: Optional[Limits] = None) -> "frozenset[str]":
    """The model ids that the provider lists at BASE_URL/models (for LLM_PROVIDER=openai).

    Raises KeyRefused, ModelsFailed (unreachable, not a list of models) and MissingPackage. Spends no call of the day.
    """
    try:
        found = _exchange("GET", config.base_url + "/models", config, limits or Limits(), None)
        _refuse_errors(found, config, now)
        return _ids(decode_body(found.body) if found.body.lstrip()[:1] != b"[" else json.loads(found.body))
    except AttemptFailed as problem:
        failed = attempt("", problem, config.api_key, "")
    except (ValueError, RecursionError):
        failed = attempt("", AttemptFailed("bad_reply", "the reply was not JSON"), "", "")
    if failed.kind == "bad_key":
        raise key_refused(config, failed.message)
    raise ModelsFailed(f"{config.base_url}/models: {failed.message}", "check LLM_BASE_URL", (failed,))


def key_refused(config: Config, message: str) -> KeyRefused:
    """The error that names the variable which the key came from."""
    variable = (
        "LLM_API_KEY" if config.origins.get("LLM_API_KEY", "default") != "default" else "OPENROUTER_API_KEY"
    )
    host = urlsplit(config.base_url).netloc
    if not config.api_key:
        return KeyRefused(
            f"{host} wants a key and none is set ({message})",
            "set LLM_API_KEY, or OPENROUTER_API_KEY for OpenRouter",
        )
    return KeyRefused(
        f"{host} does not take the key in {variable} ({message})", f"put a valid key into {variable}"
    )


def _ids(body: object) -> "frozenset[str]":
    """Ids out of {"data": [{"id"}]}, {"models": [{"name"}]} or a bare list."""
    listed = body
    if isinstance(body, Mapping):
        listed = body.get("data") if isinstance(body.get("data"), list) else body.get("models")
    if not isinstance(listed, list):
        raise AttemptFailed("bad_reply", "the reply is not a list of models")
    ids = [row.get("id") or row.get("name") for row in listed if isinstance(row, Mapping)]
    return frozenset(name for name in ids if isinstance(name, str))


def _refuse_errors(found: Exchanged, config: Config, now: datetime) -> None:
    """AttemptFailed for every status but 2xx. A redirect is not followed: the key is for this address only."""
    if 200 <= found.status < 300:
        return
    if 300 <= found.status < 400:
        target = urlsplit(found.headers.get("location", "")).netloc[:80]
        where = f" to {target}" if target and target != urlsplit(config.base_url).netloc else ""
        raise AttemptFailed(
            "redirected", f"the address redirects{where} (HTTP {found.status}), which is not followed"
        )
    said, is_json, repeated = error_text(found.body)
    raise refusal(found.status, said, {**found.headers, **repeated}, now, is_json)


def _exchange(method: str, url: str, config: Config, limits: Limits, body: Optional[bytes]) -> Exchanged:
    """One HTTP exchange within `limits.total_seconds` altogether.

    It runs in a thread that is left behind at the deadline: name look-ups, hand-shakes and servers that send a byte
    now and then all outlast any time-out of a socket.
    """
    headers = _headers(config)
    started: "list[Callable[[], Exchanged]]" = []
    worker = threading.Thread(
        target=lambda: started.append(_work(method, url, config, limits, headers, body)), daemon=True
    )
    _import_requests()  # in this thread, so that a missing package is told as such
    worker.start()
    worker.join(limits.total_seconds)
    if started:
        return started[0]()
    if worker.is_alive():
        raise AttemptFailed("timeout", f"no whole answer within {limits.total_seconds:g} seconds")
    raise RuntimeError("the request ended without a result")


def _work(
    method: str, url: str, config: Config, limits: Limits, headers: "dict[str, str]", body: Optional[bytes]
) -> "Callable[[], Exchanged]":
    """Do the exchange; returns what gives its outcome: the answer, or the failure raised."""
    import requests
    import urllib3

    try:
        done = _send(method, url, config, limits, headers, body)
        return lambda: done
    except AttemptFailed as problem:
        failed = problem
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, UnicodeError) as problem:
        failed = _connection_failure(problem, url, limits)

    def fail() -> Exchanged:
        raise failed

    return fail


def _send(
    method: str, url: str, config: Config, limits: Limits, headers: "dict[str, str]", body: Optional[bytes]
) -> Exchanged:
    import requests

    deadline = time.monotonic() + limits.total_seconds
    with requests.Session() as session:
        # A proxy for the world out there must not get what is meant for a server on this machine.
        session.trust_env = not _is_loopback(url)
        with session.request(
            method,
            url,
            data=body,
            headers=headers,
            # A callable, because without one requests takes a login for the host from ~/.netrc over our header.
            auth=_unchanged,
            timeout=(limits.connect_seconds, limits.total_seconds),
            allow_redirects=False,
            stream=True,
        ) as response:
            content = _bounded(response, limits.max_bytes, deadline)
            found = {name.lower(): value for name, value in response.headers.items()}
    promised = found.get("content-length", "")
    # urllib3 1.26, all that some systems have, takes a body that broke off for a whole one.
    if "content-encoding" not in found and promised.isdecimal() and len(content) < int(promised[:12]):
        raise AttemptFailed("server", "the reply broke off")
    return Exchanged(response.status_code, found, content)


def _bounded(response: "requests.Response", max_bytes: int, deadline: float) -> bytes:
    content = bytearray()
    for piece in response.iter_content(65536):
        content += piece
        if len(content) > max_bytes:
            raise AttemptFailed("bad_reply", f"the reply is larger than {max_bytes} bytes")
        if time.monotonic() > deadline:
            raise AttemptFailed("timeout", "the reply took too long")
    return bytes(content)


def _connection_failure(problem: Exception, url: str, limits: Limits) -> AttemptFailed:
    """What broke the connection, in our own words: the libraries' texts hold addresses of objects and more."""
    import requests
    import urllib3

    host = urlsplit(url).netloc
    if isinstance(problem, requests.exceptions.SSLError):
        return AttemptFailed("tls", f"{host}: no secure connection (TLS) could be made")
    if isinstance(problem, requests.exceptions.ProxyError):
        return AttemptFailed("unreachable", f"{host}: the proxy named in the environment failed")
    if isinstance(problem, requests.exceptions.ConnectTimeout):
        return AttemptFailed(
            "unreachable", f"{host}: no connection within {limits.connect_seconds:g} seconds"
        )
    if isinstance(problem, (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError)):
        return AttemptFailed("timeout", f"no whole answer within {limits.total_seconds:g} seconds")
    if isinstance(problem, requests.exceptions.ConnectionError):
        reason = getattr(problem.args[0] if problem.args else None, "reason", None)
        if isinstance(reason, urllib3.exceptions.NewConnectionError):
            return AttemptFailed("unreachable", f"{host}: {_no_connection(reason)}")
        return AttemptFailed("server", f"{host} broke off the connection")
    no_address = (requests.exceptions.InvalidURL, urllib3.exceptions.LocationValueError, UnicodeError)
    if isinstance(problem, no_address):
        return AttemptFailed("unreachable", f"{host}: no such address is possible")
    if isinstance(
        problem, (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError)
    ):
        return AttemptFailed("server", "the reply broke off or was damaged")
    return AttemptFailed("server", f"{host}: the connection failed ({type(problem).__name__})")


def _no_connection(reason: BaseException) -> str:
    cause = reason.__cause__ or reason.__context__
    if isinstance(cause, socket.gaierror):
        return "there is no such host"
    return (
        "the connection was refused"
        if isinstance(cause, ConnectionRefusedError)
        else "no connection can be made"
    )


def _headers(config: Config) -> "dict[str, str]":
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "total-recall"}
    if config.api_key:
        if not (config.api_key.isascii() and config.api_key.isprintable() and " " not in config.api_key):
            raise ConfigError(
                "the key in LLM_API_KEY or OPENROUTER_API_KEY holds a space or a character that no key has",
                "copy it again, without quotes, blanks or line ends inside",
            )
        headers["Authorization"] = f"Bearer {config.api_key}"
    if _is_openrouter(config):
        headers["X-Title"] = "Total Recall"
    return headers


def _unchanged(request: "requests.PreparedRequest") -> "requests.PreparedRequest":
    return request


def _import_requests() -> None:
    try:
        import requests  # noqa: F401
    except ImportError as problem:
        raise MissingPackage("requests") from problem


def _is_openrouter(config: Config) -> bool:
    host = urlsplit(config.base_url).hostname or ""
    return host == "openrouter.ai" or host.endswith(".openrouter.ai")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
