"""The model that OpenClaw and the skill ask in these tests: a FakeModel that tells who asks.

A turn of the agent gets a short answer that repeats nothing; when a person asks for it, it starts a subagent. The
observer gets a line for each tagged message, as a diligent model would write it. OpenClaw's compaction gets a summary
with the headings that it insists on, and its turn before one writes into a file of notes: both repeat what the user
said, and memory must not take it in a second time.
"""

from __future__ import annotations

import json
import re
from typing import Any, Optional

import fake_model
from observer_testing import cite

ANSWER = "Understood."
OBSERVER = "You keep the long-term memory of an assistant."  # how prompts/observer-system.txt begins
SUMMARISER = "You are a context summarization assistant."  # how OpenClaw asks for the summary of a compaction
FLUSH = "Pre-compaction memory flush"  # how what setup.py and OpenClaw ask for before a compaction begins
LONG = "This is a long story."  # what a person says to have the context nearly full
NEARLY_FULL_TOKENS = 105_500  # of 128,000: before a compaction, beyond the threshold for that turn
PASS_ON = "Pass this on to a helper."  # what a person says to have the agent start a subagent
TASK = "Always call the ferry office before 10 December #helper-1."
HEADINGS = ("Decisions", "Open TODOs", "Constraints/Rules", "Pending user asks", "Exact identifiers")


class StandIn(fake_model.FakeModel):
    """Serves from `__enter__` to `__exit__`."""

    def __init__(self) -> None:
        super().__init__(reply)

    @property
    def turns(self) -> "list[fake_model.Request]":
        """What was asked for the agent, not for the observer."""
        return [asked for asked in self.requests if asked.method == "POST" and not asked_by(OBSERVER, asked)]

    @property
    def flushes(self) -> "list[fake_model.Request]":
        """The turns before a compaction."""
        return [asked for asked in self.turns if is_flush(asked)]

    @property
    def observed(self) -> "list[fake_model.Request]":
        """What was asked by the observer."""
        return [asked for asked in self.requests if asked_by(OBSERVER, asked)]

    def turn(self, question: str) -> fake_model.Request:
        """The first request of the turn in which the user said this last."""
        for asked in self.turns:
            said = [text_of(message) for message in asked.body["messages"] if message["role"] == "user"]
            if said and any(question in text for text in said[-2:]):
                return asked
        raise AssertionError(f"the model was never asked: {question}")


def reply(asked: fake_model.Request) -> fake_model.Scripted:
    """The answer to any request."""
    if asked.method == "GET":
        return {"object": "list", "data": [{"id": "stand-in", "object": "model"}]}
    if asked_by(OBSERVER, asked):
        return cite(asked)
    last = asked.body["messages"][-2:]
    if any(message["role"] == "user" and PASS_ON in text_of(message) for message in last):
        return calls(starts_a_helper(asked), asked)
    if is_flush(asked):
        is_done = last[-1]["role"] == "tool"
        return streamed({"content": "NO_REPLY"}, asked) if is_done else calls(notes_down(asked), asked)
    answer = summary_of(asked) if asked_by(SUMMARISER, asked) else ANSWER
    if asked.body.get("stream"):
        return streamed({"content": answer}, asked)
    return fake_model.says(
        answer, usage=(len(asked.raw) // 4, 3), id="answer-1", created=1, model=asked.model
    )


def asked_by(beginning: str, asked: fake_model.Request) -> bool:
    """Whether one of the messages begins like this."""
    return any(text_of(message).startswith(beginning) for message in asked.body.get("messages", []))


def summary_of(asked: fake_model.Request) -> str:
    """A summary with OpenClaw's headings and, below the first and the last, what the user said."""
    said = "\n".join(f"- {line}" for line in re.findall(r"(?m)^\[User\]: (.*)$", prompt_of(asked))) or "None."
    below = {heading: "None." for heading in HEADINGS}
    below["Decisions"] = below["Exact identifiers"] = said
    return "\n\n".join(f"## {heading}\n{text}" for heading, text in below.items())


def starts_a_helper(asked: fake_model.Request) -> "dict[str, Any]":
    """The call of OpenClaw's tool for subagents, which 2026.9 keeps behind another one."""
    tools = {tool["function"]["name"] for tool in asked.body["tools"]}
    name, arguments = "sessions_spawn", {"task": TASK}
    if name not in tools:
        name, arguments = "tool_call", {"id": name, "args": arguments}
    return {"type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def calls(call: "dict[str, Any]", asked: fake_model.Request) -> fake_model.Reply:
    """An answer that calls a tool."""
    return streamed({"tool_calls": [{"index": 0, "id": "call-1", **call}]}, asked, "tool_calls")


def is_flush(asked: fake_model.Request) -> bool:
    """Whether this is the turn before a compaction, which has two tools only."""
    tools = {tool["function"]["name"] for tool in asked.body.get("tools", [])}
    return tools == {"read", "write"} and FLUSH in prompt_of(asked)


def notes_down(asked: fake_model.Request) -> "dict[str, Any]":
    """The call of a tool that writes what the user said into the file of notes that the prompt names."""
    named = re.findall(r"memory/\d{4}-\d\d-\d\d\.md", prompt_of(asked))
    said = [text_of(message) for message in asked.body["messages"] if message["role"] == "user"]
    arguments = {"path": named[0], "content": "\n".join(f"- {text}" for text in said) + "\n"}
    return {"type": "function", "function": {"name": "write", "arguments": json.dumps(arguments)}}


def streamed(said: "dict[str, Any]", asked: fake_model.Request, finish: str = "stop") -> fake_model.Reply:
    """An answer as a stream of chunks that OpenAI's own client accepts."""
    last = text_of(asked.body["messages"][-1])
    tokens = NEARLY_FULL_TOKENS if LONG in last else len(asked.raw) // 4
    usage = {"prompt_tokens": tokens, "completion_tokens": 3, "total_tokens": tokens + 3}
    chunk = {"id": "answer-1", "object": "chat.completion.chunk", "created": 1, "model": asked.model}

    def event(delta: "dict[str, Any]", end: Optional[str] = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        return f"data: {json.dumps({**chunk, 'choices': [choice], **more})}\n\n"

    events = [event({"role": "assistant", **said}), event({}, finish, usage=usage), "data: [DONE]\n\n"]
    return fake_model.sends("".join(events), headers={"Content-Type": "text/event-stream"})


def text_of(message: "dict[str, Any]") -> str:
    """What a message says; its content is a text or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))


def prompt_of(asked: fake_model.Request) -> str:
    """The text of all messages of a request."""
    return "\n".join(text_of(message) for message in asked.body.get("messages", []))
