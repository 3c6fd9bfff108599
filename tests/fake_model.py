"""A server on this machine that answers like a model API, by script, and remembers what it was asked.

    with FakeModel([says("- first"), fails(429, "slow down", {"Retry-After": "3"})]) as server:
        ...  # ask at server.base_url
        server.requests[0].body["model"]

The replies are a list (one each, in turn; none may be missing), a single reply (always the same), or a function of
the Request. A plain string is an answer with that text, a dict a JSON body.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Callable, Optional, Union


@dataclass(frozen=True)
class Request:
    """What the server was asked: header names in lower case, the decoded JSON body ({} for none) and its bytes."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: "dict[str, Any]"
    raw: bytes

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def prompt(self) -> str:
        """The text of all messages."""
        return "\n".join(str(message["content"]) for message in self.body.get("messages", []))


@dataclass(frozen=True)
class Reply:
    """One HTTP answer. `length` overrides Content-Length (a truncated body); `then` is what happens after the body:
    "close", "hang" (nothing more, until the server stops) or "trickle" (a blank now and then). With `drop` the
    connection is closed without an answer."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: Optional[int] = None
    then: str = "close"
    drop: bool = False


Scripted = Union[Reply, str, Mapping[str, Any]]
Answering = Callable[[Request], Scripted]
Replies = Union[Scripted, Sequence[Scripted], Answering]


def says(
    content: Any,
    finish: Optional[str] = "stop",
    usage: "Optional[tuple[int, int]]" = None,
    message: Optional[Mapping[str, Any]] = None,
    **top: Any,
) -> Reply:
    """An answer with this content. `usage` is (prompt, completion) tokens; `message` holds more of its fields."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **(message or {})},
        "finish_reason": finish,
    }
    body: "dict[str, Any]" = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], **top}
    if usage:
        body["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": sum(usage),
        }
    return sends(body)


def sends(body: Any, status: int = 200, headers: Optional[Mapping[str, str]] = None, **more: Any) -> Reply:
    """Any body: bytes and text as they are, everything else as JSON."""
    if isinstance(body, str):
        body = body.encode()
    elif not isinstance(body, bytes):
        body = json.dumps(body).encode()
    return Reply(status, body, headers or {}, **more)


def fails(status: int, message: str, headers: Optional[Mapping[str, str]] = None, **fields: Any) -> Reply:
    """An HTTP error with OpenAI's error object in its body."""
    return sends({"error": {"message": message, "code": status, **fields}}, status, headers)


def meanwhile(do: "Callable[[], object]", then: "Union[Scripted, Answering]") -> Answering:
    """Something is done while the model is asked, and then it answers."""

    def answer(request: Request) -> Scripted:
        do()
        return then(request) if callable(then) else then

    return answer


def but(number: int, reply: Scripted, others: "Union[Scripted, Answering]") -> Answering:
    """This reply to the request of that number (from 1 on), and to all others what `others` gives."""
    numbers = itertools.count(1)

    def answer(request: Request) -> Scripted:
        if next(numbers) == number:
            return reply
        return others(request) if callable(others) else others

    return answer


def streams(*pieces: str, finish: Optional[str] = "stop", done: bool = True) -> Reply:
    """The answer as server-sent events, though nobody asked for a stream."""
    chunks: "list[dict[str, Any]]" = [
        {"delta": {"content": piece}, "finish_reason": None} for piece in pieces
    ]
    if finish:
        chunks.append({"delta": {}, "finish_reason": finish})
    lines = [": OPENROUTER PROCESSING", ""]
    for chunk in chunks:
        lines += ["data: " + json.dumps({"choices": [chunk]}), ""]
    return sends(
        "\n".join(lines + (["data: [DONE]", ""] if done else [])),
        headers={"Content-Type": "text/event-stream"},
    )


class FakeModel:
    """Serves from `__enter__` to `__exit__`. `models` are the ids that GET /models lists."""

    def __init__(self, replies: Replies, models: Sequence[str] = ("test/model",)) -> None:
        self.requests: "list[Request]" = []
        self._replies = replies
        self._models: Reply = sends({"object": "list", "data": [{"id": name} for name in models]})
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def models_asked(self) -> "list[str]":
        """The models of all questions so far."""
        return [request.model for request in self.requests if request.method == "POST"]

    def __enter__(self) -> "FakeModel":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: "Optional[type[BaseException]]",
        problem: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: Request) -> Reply:
        """Record the request and pick its reply. Called by the handler's thread."""
        with self._lock:
            self.requests.append(request)
            if request.method == "GET" and not callable(self._replies):
                return self._models
            return _as_reply(self._pick(request))

    def _pick(self, request: Request) -> Scripted:
        if callable(self._replies):
            return self._replies(request)
        if isinstance(self._replies, Sequence) and not isinstance(self._replies, str):
            number = len(self.models_asked) - 1
            if number >= len(self._replies):
                return fails(599, "the test gave the fake model no reply for this request")
            return self._replies[number]
        return self._replies

    def wait_for_end(self, seconds: float) -> bool:
        return self._closing.wait(seconds)


def _as_reply(scripted: Scripted) -> Reply:
    if isinstance(scripted, Reply):
        return scripted
    return says(scripted) if isinstance(scripted, str) else sends(scripted)


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # server_close then waits for the handlers, and no thread outlives its test

    def handle_error(self, request: Any, client_address: Any) -> None:
        import sys

        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def _handler(model: FakeModel) -> "type[BaseHTTPRequestHandler]":
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(raw) if raw else {}
            self._send(model.answer(Request(self.command, self.path, headers, body, raw)))

        do_GET = do_POST

        def _send(self, reply: Reply) -> None:
            self.close_connection = True
            if reply.drop:
                return
            self.send_response(reply.status)
            for name, value in {
                "Content-Type": "application/json",
                "Connection": "close",
                **reply.headers,
            }.items():
                self.send_header(name, value)
            length = reply.length if reply.length is not None else len(reply.body)
            self.send_header("Content-Length", str(length if reply.then == "close" else 1_000_000))
            self.end_headers()
            self.wfile.write(reply.body)
            self.wfile.flush()
            if reply.then == "hang":
                model.wait_for_end(60)
            while reply.then == "trickle" and not model.wait_for_end(0.01):
                self.wfile.write(b" ")
                self.wfile.flush()

    return Handler
