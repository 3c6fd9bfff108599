"""What comes back from a model, over a real connection: every known shape becomes an answer or a typed failure."""

from __future__ import annotations

import gzip
import json
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from _llm import Answer, Limits, ModelsFailed, PromptCut, Question
from _llm.failures import safe_text
from fake_model import FakeModel, Reply, fails, says, sends, streams
from llm_testing import ENTRY, KEY, Desk

CLEAN = says(ENTRY, usage=(50, 20))


def answer_to(home: Path, reply: Any, **more: Any) -> Answer:
    with FakeModel(reply) as server:
        return Desk(home, server.base_url).ask("one", **more)


def failure_of(home: Path, reply: Any, **more: Any) -> "tuple[str, str]":
    """(kind, message) of the one model's failure."""
    with FakeModel(reply) as server, pytest.raises(ModelsFailed) as caught:
        Desk(home, server.base_url).ask("one", **more)
    return caught.value.attempts[-1].kind, caught.value.attempts[-1].message


def test_a_plain_answer_comes_with_its_tokens(tmp_path: Path) -> None:
    assert answer_to(tmp_path, CLEAN) == Answer(ENTRY, "one", False, 50, 20)


@pytest.mark.parametrize(
    "reply",
    [
        says(
            [
                {"type": "text", "text": "- 09:00 The sister's wedding "},
                {"type": "text", "text": "is on 14 June in Porto"},
            ]
        ),
        says(
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": ENTRY},
            ]
        ),
        says(
            ENTRY,
            message={
                "reasoning": "the user said",
                "reasoning_content": "hm",
                "reasoning_details": [{"text": "x"}],
            },
        ),
        says("\ufeff \n" + ENTRY + "\n\u200b"),
        sends(b"\n\n   \n" + CLEAN.body),
        sends(b": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + CLEAN.body),
        sends(b"\xef\xbb\xbf" + CLEAN.body),
        sends(CLEAN.body + b"\n: keep-alive\n"),
        streams(*ENTRY.split("wedding")[:1], "wedding", ENTRY.split("wedding")[1]),
        streams(ENTRY, finish=None),
        streams(ENTRY, done=False),
        sends(gzip.compress(CLEAN.body), headers={"Content-Encoding": "gzip"}),
        sends([json.loads(CLEAN.body)]),
        sends({"choices": [{"text": ENTRY, "finish_reason": "stop"}]}),
        says(ENTRY, finish=None),
        says(f"<think>The user says so.\n- 08:00 not this</think>\n\n{ENTRY}"),
        says(f"<THINKING>\nhm\n</THINKING>{ENTRY}"),
        says(f"The user says so.\n- 08:00 not this\n</think>\n\n{ENTRY}"),
        says(f"I think so.</think>{ENTRY}"),
        says(f"<think>a<think>b</think>c</think>{ENTRY}"),
        says(f"[THINK]hm[/THINK]\n{ENTRY}"),
        says(
            f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>{ENTRY}<|return|>"
        ),
        says(f"<|start|>assistant<|channel|>final <|constrain|>text<|message|>{ENTRY}<|end|>"),
        says(f"analysisWe need to compress.assistantfinal{ENTRY}"),
        says(f"analysis\nWe need it.assistantcommentaryhmassistantfinal\n{ENTRY}"),
        says(f"{ENTRY}<|im_end|>"),
        says(f"{ENTRY}\n</s>"),
        says(f"```\n{ENTRY}\n```"),
        says(f"```markdown\n{ENTRY}\n```\n"),
        says(f"Here are the observations:\n\n```text\n{ENTRY}\n```\n\n**Compression applied:** 40 %"),
        says(f"Here you go:\n```\n{ENTRY}"),
        says(f"~~~\n{ENTRY}\n~~~"),
    ],
)
def test_the_entry_comes_out_of_its_wrapping(tmp_path: Path, reply: Reply) -> None:
    assert answer_to(tmp_path, reply).text == ENTRY


@pytest.mark.parametrize(
    "text",
    [
        "- 09:00 Asked what a <think> tag is, and why </think> is missing",
        "- 09:00 Wants </think> stripped\n- 09:05 Runs gpt-oss, whose answers hold <|channel|>final<|message|>",
        "- 09:00 Error: the build broke; rate limit exceeded at the provider",
        "Date: 2026-11-30\n- 09:00 The analysis of the logs is done",
        "NO_OBSERVATIONS",
        "- 09:00 Keeps code in ``` fences ``` always",
    ],
)
def test_an_entry_that_speaks_of_markers_or_errors_stays_whole(tmp_path: Path, text: str) -> None:
    assert answer_to(tmp_path, says(text)).text == text


def test_entries_around_a_fence_are_kept(tmp_path: Path) -> None:
    text = "- 09:00 one\n```\n- 09:05 two\n```\n- 09:10 three"
    assert answer_to(tmp_path, says(text)).text.split() == "- 09:00 one - 09:05 two - 09:10 three".split()


def test_separators_inside_the_json_are_text(tmp_path: Path) -> None:
    text = f"{ENTRY}\u2028\x85\n- 09:01 more"
    body = json.dumps(
        {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}, ensure_ascii=False
    )
    assert answer_to(tmp_path, sends(body)).text == text
    assert answer_to(tmp_path, sends(body.replace("\\n", "\n"))).text == text
    assert answer_to(tmp_path, sends(f"data: {body}\r\n\r\ndata: [DONE]\r\n")).text == text


@pytest.mark.parametrize(
    "junk",
    [
        "\n",
        " ",
        " \n",
        "<|channel|>final",
        "</think>",
        "\n- </think>",
        "\n<think></think>",
        "\n```",
        "<head",
        "\n- ",
    ],
)
def test_endless_repetition_is_read_in_no_time(tmp_path: Path, junk: str) -> None:
    text = junk * (400_000 // len(junk))
    started = time.process_time()
    with FakeModel(
        [says(ENTRY + text + "."), says(text + ENTRY), fails(500, text), fails(500, text)]
    ) as server:
        desk = Desk(tmp_path, server.base_url)
        for _ in range(3):
            with suppress(ModelsFailed):
                desk.ask("one", urgent=True)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS"])
def test_an_answer_that_ended_at_the_token_limit_says_so(tmp_path: Path, finish: str) -> None:
    assert answer_to(tmp_path, says(ENTRY, finish=finish)).cut


def test_a_server_that_ignores_max_tokens_is_cut_by_us(tmp_path: Path) -> None:
    found = answer_to(tmp_path, says("- x " * 10_000), question=Question("s", "u", max_tokens=100))
    assert len(found.text) == 1600
    assert found.cut


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (says(None), "empty"),
        (says(""), "empty"),
        (says("  \n\u200b"), "empty"),
        (says("", finish="length"), "empty"),
        (says("  \n", message={"reasoning_content": ENTRY}), "empty"),
        (
            says(
                None,
                message={
                    "reasoning": ENTRY,
                    "reasoning_details": [{"type": "reasoning.text", "text": ENTRY}],
                },
            ),
            "empty",
        ),
        (says([{"type": "image_url", "image_url": {"url": "x"}}]), "empty"),
        (says(f"<think>I should note\n{ENTRY}"), "empty"),
        (says(f"analysisI should note\n{ENTRY}"), "empty"),
        (says(f"<|channel|>analysis<|message|>{ENTRY}"), "empty"),
        (says("```\n```"), "empty"),
        (says(None, message={"refusal": "I cannot do that"}), "refused"),
        (says("", finish="content_filter"), "refused"),
        (sends({"choices": []}), "bad_reply"),
        (sends({"choices": None}), "bad_reply"),
        (sends({"choices": [None]}), "bad_reply"),
        (sends({"object": "chat.completion"}), "bad_reply"),
        (sends({"choices": [{"message": None, "finish_reason": "stop"}]}), "empty"),
        (sends("[]"), "bad_reply"),
        (sends("null"), "bad_reply"),
        (sends("42"), "bad_reply"),
        (sends("[" * 100_000), "bad_reply"),
        (sends(""), "bad_reply"),
        (sends("\n \n: ping\n"), "bad_reply"),
        (sends(CLEAN.body[:-9]), "bad_reply"),
        (sends(b"\xff\xfe\x00\x01"), "bad_reply"),
        (
            sends("<!DOCTYPE html><html><head><title>Sign in</title></head><body>Log in</body></html>"),
            "bad_reply",
        ),
        (streams("- 09:00 half", finish=None, done=False), "bad_reply"),
        (sends('data: {"choices":[{"delta":{"content":"- 09'), "bad_reply"),
    ],
)
def test_a_reply_without_an_answer_is_a_failure(tmp_path: Path, reply: Reply, kind: str) -> None:
    assert failure_of(tmp_path, reply)[0] == kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, "rate_limited"),
        ({"error": {"code": "rate_limit_exceeded", "message": "slow down"}}, "rate_limited"),
        ({"error": {"code": 404, "message": "No endpoints found for one."}}, "gone"),
        ({"error": {"code": 402, "message": "Insufficient credits"}}, "no_credit"),
        ({"error": {"message": "Provider returned error", "code": 502}}, "server"),
        ({"error": "something broke"}, "server"),
        ({"error": {"message": "no code"}, "choices": [{"message": {"content": ENTRY}}]}, "server"),
        ({"choices": [{"error": {"code": 502, "message": "x"}, "message": {"content": ENTRY}}]}, "server"),
        ({"choices": [{"finish_reason": "error", "message": {"content": ENTRY}}]}, "server"),
    ],
)
def test_an_error_inside_a_200_is_a_failure_even_beside_half_an_answer(
    tmp_path: Path, body: "dict[str, Any]", kind: str
) -> None:
    assert failure_of(tmp_path, sends(body))[0] == kind


def test_an_error_after_the_stream_began_is_a_failure(tmp_path: Path) -> None:
    begun = streams("- 09:00 half", finish=None, done=False).body
    late = b'\ndata: {"error":{"code":502,"message":"upstream"},"choices":[{"delta":{},"finish_reason":"error"}]}\n'
    assert failure_of(tmp_path, sends(begun + late))[0] == "server"


@pytest.mark.parametrize(
    "text",
    [
        "Error: Provider returned error",
        "[ERROR] upstream request failed",
        "**Error:** all accounts exhausted",
        "⚠️ Rate limit exceeded: free-models-per-day",
        "Error code: 429 - too many requests",
        "API Error 503",
        "The model is currently overloaded. Please try again later.",
        "No available providers found for this model",
        "An internal error occurred while processing the request.",
        "502 Bad Gateway",
        "Insufficient credits. Add more at the dashboard.",
        '{"error": {"message": "quota"}}',
        "You have exceeded your current quota",
    ],
)
def test_a_gateways_error_written_as_an_answer_is_a_failure(tmp_path: Path, text: str) -> None:
    assert failure_of(tmp_path, says(text))[0] == "server"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (sends("<html><body>502 Bad Gateway</body></html>", 502), "server"),
        (fails(500, "boom"), "server"),
        (fails(503, "no provider"), "server"),
        (fails(529, "overloaded"), "server"),
        (fails(408, "slow"), "server"),
        (sends(CLEAN.body, length=len(CLEAN.body) + 100), "server"),
        (Reply(drop=True), "server"),
        (sends(b"no gzip", headers={"Content-Encoding": "gzip"}), "server"),
        (fails(400, "'stop' is not permitted"), "bad_request"),
        (sends({"detail": [{"loc": ["body"], "msg": "extra fields not permitted"}]}, 422), "bad_request"),
        (fails(403, "Your input was flagged by moderation"), "refused"),
        (fails(403, "This model is not available in your region"), "gone"),
        (fails(403, "Your account has no access to model one"), "no_access"),
        (sends("404 page not found", 404), "not_found"),
        (sends("", 302, {"Location": "https://login.example/x"}), "redirected"),
    ],
)
def test_http_errors_have_their_kinds(tmp_path: Path, reply: Reply, kind: str) -> None:
    assert failure_of(tmp_path, reply)[0] == kind


@pytest.mark.parametrize("then", ["hang", "trickle"])
def test_a_server_that_never_finishes_is_left_at_the_deadline(tmp_path: Path, then: str) -> None:
    limits = Limits(total_seconds=0.3)
    assert failure_of(tmp_path, sends(b'{"choices"', then=then), limits=limits)[0] == "timeout"


def test_a_reply_without_end_is_left_at_its_largest_size(tmp_path: Path) -> None:
    found = failure_of(tmp_path, says("x" * 200_000), limits=Limits(max_bytes=100_000))
    assert found == ("bad_reply", "the reply is larger than 100000 bytes")


# What is told of a failure


@pytest.mark.parametrize(
    "echo",
    [
        f"bad key {KEY}",
        f"bad key '{KEY[:14]}***'",
        f"header was: Authorization: Bearer {KEY}",
        "Incorrect key provided: " + "gsk_" + "Zz9" * 12,
        f"https://x.example/?key={KEY}&a=1",
    ],
)
def test_a_key_that_the_server_echoes_is_masked(tmp_path: Path, echo: str) -> None:
    kind, message = failure_of(tmp_path, fails(500, echo))
    assert "***" in message
    assert not any(KEY[at : at + 8] in message for at in range(len(KEY) - 7))
    assert "Zz9Zz9" not in message


def test_a_conversation_that_the_server_echoes_is_left_out(tmp_path: Path) -> None:
    kind, message = failure_of(
        tmp_path, fails(400, "cannot parse 'my sister's wedding is on 14 June in Porto'")
    )
    assert message == "the request was refused (HTTP 400): (it repeated our question, left out here)"


def test_what_a_server_says_becomes_one_short_line(tmp_path: Path) -> None:
    kind, message = failure_of(tmp_path, fails(500, "first\r\nsecond\x1b[31m " + "very long " * 100))
    assert message.startswith("the provider failed (HTTP 500): first second [31m very long")
    assert len(message) == 200
    assert message.isprintable()


def test_an_html_page_is_told_by_its_words(tmp_path: Path) -> None:
    page = "<html><head><title>t</title></head><body><h1>Gateway</h1> down </body></html>"
    assert failure_of(tmp_path, sends(page, 502))[1] == "the provider failed (HTTP 502): Gateway down"


# Prompts that were not read whole

LONG = Question(
    "Compress.", " ".join(f"message number {n} about topic {n * 7}" for n in range(3000))
)  # 27 k tokens


@pytest.mark.parametrize("seen", [4096, 8192, 9000])
def test_a_prompt_that_the_server_cut_silently_is_told(tmp_path: Path, seen: int) -> None:
    with FakeModel(says(ENTRY, usage=(seen, 20))) as server, pytest.raises(PromptCut) as caught:
        Desk(tmp_path, server.base_url).ask("one", question=LONG)
    assert caught.value.seen_tokens == seen
    assert "num_ctx" in caught.value.hint


@pytest.mark.parametrize("usage", [(26_000, 20), (16_000, 20), None, (0, 20)])
def test_a_prompt_that_was_read_or_not_counted_is_no_failure(tmp_path: Path, usage: Any) -> None:
    assert answer_to(tmp_path, says(ENTRY, usage=usage), question=LONG).text == ENTRY


def test_cached_tokens_count_as_read(tmp_path: Path) -> None:
    usage = {
        "prompt_tokens": 3000,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 23_000},
    }
    reply = sends({"choices": [{"message": {"content": ENTRY}}], "usage": usage})
    assert answer_to(tmp_path, reply, question=LONG).text == ENTRY


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (
            "我姐姐的婚礼定于六月十四日在波尔图举行，全家人都会去。" * 400,
            6_000,
        ),  # 11,200 characters, 1.9 a token
        ("=" * 60_000, 1_100),
        ("a\n" + " " * 60_000, 1_100),
        ("short", 3),
    ],
)
def test_text_that_costs_few_tokens_is_not_taken_for_cut(tmp_path: Path, text: str, seen: int) -> None:
    assert answer_to(tmp_path, says(ENTRY, usage=(seen, 9)), question=Question("s", text)).text == ENTRY


@pytest.mark.parametrize(
    "reply",
    [
        fails(400, "This model's maximum context length is 8192 tokens. However, you requested 31000 tokens"),
        fails(400, "request (30000 tokens) exceeds the available context size (4096 tokens)"),
        fails(413, "Request too large for model"),
        sends("payload too large", 413),
        sends({"error": {"code": "context_length_exceeded", "message": "too long"}}),
    ],
)
def test_a_question_that_is_refused_as_too_long_asks_for_smaller_pieces(tmp_path: Path, reply: Reply) -> None:
    with FakeModel(reply) as server, pytest.raises(PromptCut):
        desk = Desk(tmp_path, server.base_url)
        desk.ask("one")
    assert desk.kept.memo.holds == {}


def test_what_a_provider_repeats_of_the_conversation_is_not_told() -> None:
    said = "[09:00] Ines: Zebulon lives in Elm Street 4711, the token is at the door. 我的猫叫小白。"
    for told in (
        "invalid request: flagged words Zebulon, ELM street near '4711'",
        "context length exceeded near Zebulon%20lives%20in",
        "invalid: 小白",
    ):
        shown = safe_text(told, "", said).casefold()
        assert not {"zebulon", "elm", "street", "4711", "lives", "小白"} & set(re.findall(r"\w+", shown))
        assert re.match(r"invalid|context length exceeded", shown)
    assert safe_text("Rate limit exceeded: 20 requests per minute", "", said) == (
        "Rate limit exceeded: 20 requests per minute"
    )
