"""The chain of models: who is asked, what is waited for, what is remembered for later runs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Optional

import pytest

from _errors import ConfigError, ModelError, ModelParked
from _llm import Answer, Hold, KeyRefused, Memo, ModelsFailed, Question, offered_models, parked_until
from _llm.http_api import request_body
from fake_model import FakeModel, Request, fails, says, sends
from llm_testing import ENTRY, KEY, NOON, QUESTION, Desk

GONE = fails(404, "No endpoints found for one.")


def desk_of(home: Path, server: FakeModel, **environment: str) -> Desk:
    return Desk(home, server.base_url, **environment)


def kinds(problem: ModelsFailed) -> "list[tuple[str, str]]":
    return [(attempt.model, attempt.kind) for attempt in problem.attempts]


# What is sent


def test_the_request_holds_only_what_every_server_knows(tmp_path: Path) -> None:
    with FakeModel(says(ENTRY)) as server:
        desk_of(tmp_path, server).ask("one")
    request = server.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "one",
        "messages": [
            {"role": "system", "content": "You compress conversations."},
            {"role": "user", "content": "USER: my sister's wedding is on 14 June in Porto"},
        ],
        "max_tokens": 4096,
        "stream": False,
        "temperature": 0,
    }


def test_openrouter_is_asked_to_think_little_and_to_keep_it_to_itself(tmp_path: Path) -> None:
    config = Desk(tmp_path, "https://openrouter.ai/api/v1").config
    assert request_body(QUESTION, "one", config)["reasoning"] == {"exclude": True, "effort": "low"}


def test_every_attempt_sends_the_same_request_but_for_the_model(tmp_path: Path) -> None:
    with FakeModel([GONE, fails(502, "x"), fails(502, "x"), says(ENTRY)]) as server:
        desk_of(tmp_path, server).ask("one", "two", "three")
    assert server.models_asked == ["one", "two", "two", "three"]
    assert len({json.dumps({**request.body, "model": ""}) for request in server.requests}) == 1


def test_without_a_key_no_authorization_is_sent_even_if_netrc_has_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login someone password other\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with FakeModel(says(ENTRY)) as server:
        Desk(tmp_path, server.base_url, LLM_API_KEY="").ask("one")
        Desk(tmp_path, server.base_url).ask("one")
    assert [r.headers.get("authorization") for r in server.requests] == [None, f"Bearer {KEY}"]


def test_a_proxy_never_gets_what_is_meant_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with FakeModel(says("- from the proxy")) as proxy, FakeModel(says(ENTRY)) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.base_url)
        assert desk_of(tmp_path, server).ask("one").text == ENTRY
    assert proxy.requests == []


def test_a_proxy_is_used_for_other_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with FakeModel(says("- through the proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.base_url)
        assert Desk(tmp_path, "http://models.invalid/v1").ask("one").text == "- through the proxy"
    assert proxy.requests[0].path == "http://models.invalid/v1/chat/completions"


def test_text_that_is_no_valid_unicode_is_sent_without_it(tmp_path: Path) -> None:
    with FakeModel(says(ENTRY)) as server:
        desk_of(tmp_path, server).ask("one", question=Question("s", "broken \ud83d half, whole 日本 🔴"))
    assert server.requests[0].body["messages"][1]["content"] == "broken ? half, whole 日本 🔴"


@pytest.mark.parametrize(
    ("complaint", "gone", "new"),
    [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'.",
            "max_tokens",
            {"max_completion_tokens": 4096},
        ),
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature", {}),
    ],
)
def test_a_field_that_the_server_complains_about_is_left_out_once(
    tmp_path: Path, complaint: str, gone: str, new: "dict[str, int]"
) -> None:
    with FakeModel([fails(400, complaint), says(ENTRY)]) as server:
        assert desk_of(tmp_path, server).ask("one").text == ENTRY
    first, second = server.requests[0].body, server.requests[1].body
    assert second == {**{name: value for name, value in first.items() if name != gone}, **new}


def test_a_model_without_system_role_gets_one_message(tmp_path: Path) -> None:
    with FakeModel(
        [fails(400, "Developer instruction is not enabled for models/gemma"), says(ENTRY)]
    ) as server:
        desk_of(tmp_path, server).ask("one")
    assert server.requests[1].body["messages"] == [
        {
            "role": "user",
            "content": "You compress conversations.\n\nUSER: my sister's wedding is on 14 June in Porto",
        }
    ]


def test_a_complaint_about_a_field_that_was_not_sent_repeats_nothing(tmp_path: Path) -> None:
    with FakeModel(fails(400, "reasoning is not supported")) as server, pytest.raises(ModelsFailed):
        desk_of(tmp_path, server).ask("one")
    assert len(server.requests) == 1


def test_a_server_that_complains_forever_is_given_up(tmp_path: Path) -> None:
    with FakeModel(fails(400, "temperature")) as server, pytest.raises(ModelsFailed):
        desk_of(tmp_path, server).ask("one")
    assert len(server.requests) == 2


# Models that are gone


@pytest.mark.parametrize(
    "reply",
    [
        GONE,
        fails(400, "stepfun/step-3.5-flash is not a valid model ID"),
        fails(410, "The model has reached its end of life"),
        sends({"status": 404, "title": "Not Found", "detail": "Function 'x': Not found for account"}, 404),
        fails(404, 'model "one" not found, try pulling it first', type="not_found_error"),
        fails(400, "The model `one` has been decommissioned", code="model_decommissioned"),
        fails(404, "The model `one` does not exist or you do not have access to it."),
    ],
)
def test_a_model_that_is_gone_is_passed_over_at_once_and_for_a_day(tmp_path: Path, reply: Any) -> None:
    with FakeModel(lambda request: reply if request.model == "one" else says(ENTRY)) as server:
        desk = desk_of(tmp_path, server)
        assert desk.ask("one", "two").model == "two"
        desk.clock.pass_(hours=23, minutes=59)
        desk.ask("one", "two")
        desk.clock.pass_(minutes=2)
        desk.ask("one", "two")
    assert server.models_asked == ["one", "two", "two", "one", "two"]
    assert desk.clock.slept == []


def test_a_gone_model_is_remembered_for_its_provider_only(tmp_path: Path) -> None:
    with FakeModel([GONE, says(ENTRY)]) as server, FakeModel(says(ENTRY)) as other:
        desk = desk_of(tmp_path, server)
        desk.ask("one", "two")
        desk.environment["LLM_BASE_URL"] = other.base_url
        assert desk.ask("one", "two").model == "one"


def test_when_all_models_are_gone_the_error_says_which_and_they_are_asked_again_later(tmp_path: Path) -> None:
    with FakeModel([GONE, GONE, says(ENTRY)]) as server:
        desk = desk_of(tmp_path, server)
        with pytest.raises(ModelsFailed) as caught:
            desk.ask("one", "two")
        desk.clock.pass_(seconds=61)
        assert desk.ask("one", "two").model == "one"
    assert kinds(caught.value) == [("one", "gone"), ("two", "gone")]
    assert str(caught.value) == (
        "no usable answer: one: the model is gone (HTTP 404): No endpoints found for one.; "
        "two: the model is gone (HTTP 404): No endpoints found for one."
    )
    assert "OBSERVER_MODEL" in caught.value.hint
    assert caught.value.exit_code == 5


# Keys and credit


@pytest.mark.parametrize(
    ("environment", "variable"),
    [
        ({"LLM_API_KEY": KEY}, "LLM_API_KEY"),
        ({"LLM_API_KEY": "", "OPENROUTER_API_KEY": KEY}, "OPENROUTER_API_KEY"),
    ],
)
@pytest.mark.parametrize(
    "reply",
    [
        fails(401, f"Incorrect API key provided: {KEY}"),
        fails(403, "Forbidden"),
        fails(400, "API key not valid. Please pass a valid API key."),
        sends("Unauthorized", 401),
    ],
)
def test_a_refused_key_stops_the_chain_and_names_its_variable(
    tmp_path: Path, reply: Any, environment: "dict[str, str]", variable: str
) -> None:
    with FakeModel(reply) as server:
        desk = desk_of(tmp_path, server, **environment)
        with pytest.raises(KeyRefused) as caught:
            desk.ask("one", "two")
    assert len(server.requests) == 1
    assert f"the key in {variable}" in str(caught.value)
    assert (caught.value.exit_code, caught.value.hint) == (3, f"put a valid key into {variable}")
    assert KEY[:8] not in str(caught.value)
    assert desk.kept.memo.failures_in_a_row == 1


def test_a_repaired_key_works_at_once(tmp_path: Path) -> None:
    with FakeModel([fails(401, "no"), fails(401, "no"), says(ENTRY)]) as server:
        desk = desk_of(tmp_path, server)
        for _ in range(2):
            with pytest.raises(KeyRefused):
                desk.ask("one")
        assert desk.ask("one").text == ENTRY
    assert desk.kept.memo.failures_in_a_row == 0


def test_a_missing_key_is_told_as_such(tmp_path: Path) -> None:
    with (
        FakeModel(fails(401, "No auth credentials found")) as server,
        pytest.raises(KeyRefused, match="none is set"),
    ):
        Desk(tmp_path, server.base_url, LLM_API_KEY="").ask("one")


@pytest.mark.parametrize("key", ["sk-ab cd", "sk-\u201cabcd\u201d", "sk-ab\x07"])
def test_a_key_that_cannot_be_sent_is_a_configuration_error(tmp_path: Path, key: str) -> None:
    with FakeModel(says(ENTRY)) as server, pytest.raises(ConfigError) as caught:
        Desk(tmp_path, server.base_url, LLM_API_KEY=key).ask("one")
    assert server.requests == []
    assert "LLM_API_KEY" in str(caught.value)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "reply",
    [
        fails(402, "Insufficient credits. Your balance is negative."),
        fails(429, "You exceeded your current quota", code="insufficient_quota"),
        sends({"error": {"code": 402, "message": "This request requires more credits"}}),
    ],
)
def test_without_credit_nothing_more_is_asked_and_the_person_is_told(tmp_path: Path, reply: Any) -> None:
    with FakeModel(reply) as server, pytest.raises(ModelsFailed) as caught:
        desk_of(tmp_path, server).ask("one", "two")
    assert kinds(caught.value) == [("one", "no_credit")]
    assert len(server.requests) == 1
    assert "add credit" in caught.value.hint


def test_a_402_with_retry_after_holds_us_off_that_long_even_when_urgent(tmp_path: Path) -> None:
    with FakeModel(fails(402, "no credit", {"Retry-After": "7200"})) as server:
        desk = desk_of(tmp_path, server)
        with pytest.raises(ModelsFailed):
            desk.ask("one")
        desk.clock.pass_(minutes=119)
        with pytest.raises(ModelParked, match="until 2026-11-30 14:00: the provider asked us to wait"):
            desk.ask("one", urgent=True)
    assert len(server.requests) == 1


# Rate limits


def epoch(seconds: float) -> float:
    return NOON.timestamp() + seconds


@pytest.mark.parametrize(
    ("headers", "slept"),
    [
        ({"Retry-After": "3"}, [3.0]),
        ({"Retry-After": "2.5"}, [2.5]),
        ({"Retry-After": "0"}, [1.0]),
        ({"Retry-After": format_datetime(NOON + timedelta(seconds=9), usegmt=True)}, [9.0]),
        ({"Retry-After": format_datetime(NOON - timedelta(days=9), usegmt=True)}, [1.0]),
        ({"Retry-After": "7.5s"}, [7.5]),
        ({"X-RateLimit-Reset": f"{epoch(5):.0f}"}, [5.0]),
        ({"X-RateLimit-Reset": f"{epoch(5) * 1000:.0f}"}, [5.0]),
        ({"X-RateLimit-Reset": f"{epoch(-500) * 1000:.0f}"}, [1.0]),
        ({"X-RateLimit-Reset": "12"}, [12.0]),
        ({"Retry-After": "soon", "X-RateLimit-Reset": "1200ms"}, [1.2]),
        ({"Retry-After": "4", "X-RateLimit-Reset": f"{epoch(7200):.0f}"}, [4.0]),
    ],
)
def test_a_short_rate_limit_is_waited_for(
    tmp_path: Path, headers: "dict[str, str]", slept: "list[float]"
) -> None:
    with FakeModel([fails(429, "slow down", headers), says(ENTRY)]) as server:
        desk = desk_of(tmp_path, server)
        assert desk.ask("one", "two").model == "one"
    assert desk.clock.slept == pytest.approx(slept, abs=1e-3)


@pytest.mark.parametrize(
    ("headers", "until"),
    [
        ({"Retry-After": "3600"}, "2026-11-30 13:00"),
        ({"Retry-After": "21"}, "2026-11-30 12:00"),
        ({"Retry-After": "99999999"}, "2026-12-01 12:00"),
        ({"Retry-After": format_datetime(NOON + timedelta(hours=2), usegmt=True)}, "2026-11-30 14:00"),
        ({"X-RateLimit-Reset": f"{epoch(43200) * 1000:.0f}"}, "2026-12-01 00:00"),
        ({"X-RateLimit-Reset": "9" * 30}, "2026-12-01 12:00"),
        ({"X-RateLimit-Reset": "2026-11-30T15:00:00Z"}, "2026-11-30 15:00"),
        ({"Retry-After": "2h30m"}, "2026-11-30 14:30"),
    ],
)
def test_a_long_rate_limit_parks_the_model_until_it_ends(
    tmp_path: Path, headers: "dict[str, str]", until: str
) -> None:
    with FakeModel(fails(429, "free-models-per-day", headers)) as server:
        desk = desk_of(tmp_path, server)
        with pytest.raises(ModelsFailed) as caught:
            desk.ask("one")
        assert kinds(caught.value) == [("one", "rate_limited")]
        hold = desk.kept.memo.resting[f"{server.base_url} one"]
        assert hold.until.strftime("%Y-%m-%d %H:%M") == until
        desk.clock.moment = hold.until - timedelta(seconds=1)
        with pytest.raises(ModelParked, match="asked us to wait"):
            desk.ask("one", urgent=True)
    assert len(server.requests) == 1
    assert desk.clock.slept == []


@pytest.mark.parametrize("value", ["", "-5", "nan", "inf", "tomorrow", "١٢", "1e999", "9" * 400])
def test_a_rate_limit_that_says_nonsense_is_as_one_that_says_nothing(tmp_path: Path, value: str) -> None:
    with FakeModel(
        [fails(429, "x", {"X-RateLimit-Reset": value.encode().decode("latin-1")}), says(ENTRY)]
    ) as server:
        desk = desk_of(tmp_path, server)
        assert desk.ask("one", "two").model == "two"
    assert desk.clock.slept == []
    assert desk.kept.memo.resting == {}


def test_a_limited_model_leaves_the_question_to_the_next_and_rests(tmp_path: Path) -> None:
    limited = fails(429, "upstream", {"Retry-After": "600"})
    with FakeModel(lambda request: limited if request.model == "one" else says(ENTRY)) as server:
        desk = desk_of(tmp_path, server)
        desk.ask("one", "two")
        desk.ask("one", "two")
        desk.clock.pass_(minutes=11)
        desk.ask("one", "two")
    assert server.models_asked == ["one", "two", "two", "one", "two"]


def test_openrouters_limit_headers_inside_the_body_are_read(tmp_path: Path) -> None:
    metadata = {"headers": {"X-RateLimit-Limit": "50", "X-RateLimit-Reset": f"{epoch(6) * 1000:.0f}"}}
    body = {"error": {"code": 429, "message": "Rate limit exceeded", "metadata": metadata}}
    with FakeModel([sends(body, 429), sends(body, 200), says(ENTRY)]) as server:
        desk = desk_of(tmp_path, server)
        desk.ask("one")
    assert desk.clock.slept == pytest.approx([6.0, 1.0])


def test_a_refused_key_counts_more_than_a_question_that_was_too_long(tmp_path: Path) -> None:
    with FakeModel([fails(413, "too large"), fails(401, "no")]) as server, pytest.raises(KeyRefused):
        desk_of(tmp_path, server).ask("one", "two")


def test_patience_is_for_the_whole_question(tmp_path: Path) -> None:
    with FakeModel(fails(429, "x", {"Retry-After": "15"})) as server, pytest.raises(ModelsFailed):
        desk = desk_of(tmp_path, server)
        desk.ask("one", "two")
    assert server.models_asked == ["one", "one", "two"]
    assert desk.clock.slept == [15.0]


# Failing servers


def test_a_failing_provider_is_asked_once_more_then_the_next_model(tmp_path: Path) -> None:
    with FakeModel([fails(502, "x"), fails(502, "x"), says(ENTRY)]) as server:
        desk = desk_of(tmp_path, server)
        assert desk.ask("one", "two").model == "two"
    assert server.models_asked == ["one", "one", "two"]
    assert desk.clock.slept == [2.0]


def test_a_redirect_is_not_followed_and_the_key_goes_nowhere_else(tmp_path: Path) -> None:
    with FakeModel(says(ENTRY)) as other:
        target = other.base_url.replace("127.0.0.1", "localhost") + "/chat/completions"
        with FakeModel(sends("", 307, {"Location": target})) as server, pytest.raises(ModelsFailed) as caught:
            desk_of(tmp_path, server).ask("one", "two")
    assert other.requests == []
    assert len(server.requests) == 1
    assert "localhost" in str(caught.value)
    assert "LLM_BASE_URL" in caught.value.hint


def test_an_address_where_nothing_listens_is_asked_once(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with pytest.raises(ModelsFailed, match="the connection was refused") as caught:
            Desk(tmp_path, url).ask("one", "two")
    assert kinds(caught.value) == [("one", "unreachable")]


@pytest.mark.parametrize("url", ["http://a..b/v1", "http://*.example/v1"])
def test_an_address_that_cannot_be_is_told(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelsFailed) as caught:
        Desk(tmp_path, url).ask("one", "two")
    assert kinds(caught.value) == [("one", "unreachable")]


def test_a_host_that_nobody_knows_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ModelsFailed, match="one: models.example: there is no such host"):
        Desk(tmp_path, "http://models.example/v1").ask("one", "two")


def test_a_server_without_tls_behind_an_https_address_is_told(tmp_path: Path) -> None:
    with FakeModel(says(ENTRY)) as server, pytest.raises(ModelsFailed) as caught:
        Desk(tmp_path, server.base_url.replace("http:", "https:")).ask("one", "two")
    assert kinds(caught.value) == [("one", "tls")]


# What the caller thinks of an answer


def refuse_the_first(answer: Answer) -> Optional[str]:
    return None if answer.model == "two" else "prose, no entries"


def test_an_answer_that_the_caller_refuses_goes_on_to_the_next_model(tmp_path: Path) -> None:
    with FakeModel(says("I have a good understanding")) as server:
        desk = desk_of(tmp_path, server)
        assert desk.ask("one", "two", accept=refuse_the_first).model == "two"
        with pytest.raises(ModelsFailed) as caught:
            desk.ask("one", accept=refuse_the_first)
    assert str(caught.value) == "no usable answer: one: the answer could not be used (prose, no entries)"
    assert desk.kept.memo.failures_in_a_row == 1


def test_an_error_of_the_caller_passes_through_after_the_call_was_counted(tmp_path: Path) -> None:
    def accept(answer: Answer) -> Optional[str]:
        raise ModelError("cut")

    with FakeModel(says(ENTRY, usage=(30, 12))) as server:
        desk = desk_of(tmp_path, server)
        with pytest.raises(ModelError, match="cut"):
            desk.ask("one", "two", accept=accept)
    assert desk.kept.memo == Memo("2026-11-30", 1, 42)


# Hold-offs


def test_hold_offs_grow_with_failures_in_a_row_and_end_with_a_success(tmp_path: Path) -> None:
    replies = [fails(500, "x")] * 16 + [says(ENTRY), fails(500, "x"), fails(500, "x")]
    pauses = []
    with FakeModel(replies) as server:
        desk = desk_of(tmp_path, server)
        for _ in range(8):
            with pytest.raises(ModelsFailed):
                desk.ask("one")
            until = desk.kept.memo.holds[server.base_url].until
            pauses.append((until - desk.clock.moment).total_seconds() / 60)
            desk.clock.moment = until
        assert desk.kept.memo.failures_in_a_row == 8
        desk.ask("one")
        assert desk.kept.memo.failures_in_a_row == 0
        with pytest.raises(ModelsFailed):
            desk.ask("one")
        assert desk.kept.memo.failures_in_a_row == 1
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_hold_off_of_ours_asks_nothing_unless_it_is_urgent(tmp_path: Path) -> None:
    with FakeModel([fails(500, "x"), fails(500, "x"), says(ENTRY)]) as server:
        desk = desk_of(tmp_path, server)
        with pytest.raises(ModelsFailed):
            desk.ask("one")
        with pytest.raises(ModelParked, match=r"until 2026-11-30 12:01: 1 failure in a row \(last: an error"):
            desk.ask("one")
        assert len(server.requests) == 2
        assert desk.ask("one", urgent=True).text == ENTRY


def test_a_model_that_always_fails_costs_few_calls_in_a_day_of_runs(tmp_path: Path) -> None:
    with FakeModel(fails(500, "x")) as server:
        desk = desk_of(tmp_path, server)
        for _ in range(288):  # every five minutes
            with pytest.raises(ModelError):
                desk.ask("one", "two")
            desk.clock.pass_(minutes=5)
    assert len(server.requests) <= 29 * 4  # one question an hour, and five at the start


def test_a_hold_off_from_a_clock_that_was_wrong_is_not_in_force(tmp_path: Path) -> None:
    with FakeModel(says(ENTRY)) as server:
        desk = desk_of(tmp_path, server)
        desk.kept(lambda memo: memo.after_failure(server.base_url, "server", NOON + timedelta(days=400)))
        assert desk.ask("one").text == ENTRY


# Daily ceilings


def test_calls_stop_at_the_days_ceiling_and_go_on_the_next_local_day(tmp_path: Path) -> None:
    with FakeModel(says(ENTRY)) as server:
        desk = desk_of(tmp_path, server, LLM_DAILY_CALL_LIMIT="2", TZ="Asia/Tokyo")
        desk.ask("one")
        desk.ask("one")
        with pytest.raises(ModelParked) as caught:
            desk.ask("one", urgent=True)
        assert str(caught.value) == (
            "no model is asked until 2026-12-01 00:00: the day's ceiling of 2 calls (LLM_DAILY_CALL_LIMIT) is reached"
        )
        desk.clock.moment = datetime(2026, 11, 30, 15, 0, tzinfo=timezone.utc)  # midnight in Tokyo
        desk.ask("one")
    assert len(server.requests) == 3


def test_tokens_stop_at_the_days_ceiling(tmp_path: Path) -> None:
    with FakeModel(says(ENTRY, usage=(900, 100))) as server:
        desk = desk_of(tmp_path, server, LLM_DAILY_TOKEN_LIMIT="2000")
        desk.ask("one")
        desk.ask("one")
        with pytest.raises(ModelParked, match="LLM_DAILY_TOKEN_LIMIT"):
            desk.ask("one")
    assert desk.kept.memo.tokens == 2000


def test_a_ceiling_reached_within_the_chain_stops_there(tmp_path: Path) -> None:
    with FakeModel(GONE) as server:
        desk = desk_of(tmp_path, server, LLM_DAILY_CALL_LIMIT="2")
        with pytest.raises(ModelParked):
            desk.ask("one", "two", "three")
    assert server.models_asked == ["one", "two"]


def test_a_ceiling_of_zero_asks_nothing(tmp_path: Path) -> None:
    with (
        FakeModel(says(ENTRY)) as server,
        pytest.raises(ModelParked, match=r"ceiling of 0 calls \(LLM_DAILY_CALL_LIMIT\)"),
    ):
        desk_of(tmp_path, server, LLM_DAILY_CALL_LIMIT="0").ask("one")
    assert server.requests == []


def test_a_call_is_counted_before_it_is_made(tmp_path: Path) -> None:
    counted = []

    def reply(request: Request) -> Any:
        counted.append((desk.kept.memo.calls, desk.kept.memo.tokens))
        return says(ENTRY)

    with FakeModel(reply) as server:
        desk = desk_of(tmp_path, server)
        desk.ask("one")
    assert counted == [(1, 19)]  # 75 characters


def test_refused_questions_cost_calls_but_no_tokens(tmp_path: Path) -> None:
    with FakeModel([GONE, fails(400, "x"), says(ENTRY, usage=(20, 30))]) as server:
        desk = desk_of(tmp_path, server)
        desk.ask("one", "two", "three")
    assert (desk.kept.memo.calls, desk.kept.memo.tokens) == (3, 50)


@pytest.mark.parametrize("usage", [(-5, 3), (10**15, 2), (True, False), ("many", None)])
def test_unbelievable_usage_is_not_counted(tmp_path: Path, usage: Any) -> None:
    reply = sends(
        {
            "choices": [{"message": {"content": ENTRY}}],
            "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]},
        }
    )
    with FakeModel(reply) as server:
        desk = desk_of(tmp_path, server)
        assert desk.ask("one").prompt_tokens is None
    assert 19 <= desk.kept.memo.tokens <= 40


# The memo


def test_a_memo_comes_back_from_json_as_it_was() -> None:
    memo = (
        Memo()
        .with_call("2026-11-30", 500)
        .with_rest("p", "m", Hold(NOON + timedelta(hours=1), "gone", True), NOON)
        .after_failure("p", "server", NOON, timedelta(hours=3))
    )
    assert Memo.from_json(json.loads(json.dumps(memo.as_json()))) == memo
    assert memo.holds["p"] == Hold(NOON + timedelta(hours=3), "server", True, 1)


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        [],
        "x",
        {},
        {"day": 5, "calls": "7", "tokens": -3, "holds": [], "resting": None},
        {
            "holds": {"p": None, "q": {"until": "never"}, "r": {"until": 5}, "s": {}},
            "calls": True,
            "tokens": 1.5,
        },
    ],
)
def test_a_damaged_memo_counts_as_never_noted(damaged: Any) -> None:
    assert Memo.from_json(damaged) in (Memo(), Memo(day=""))


def test_what_is_left_of_a_damaged_memo_is_kept() -> None:
    found = Memo.from_json(
        {"day": "2026-11-30", "calls": 7, "holds": {"p": {"until": NOON.isoformat(), "failures": "x"}}}
    )
    assert found == Memo("2026-11-30", 7, 0, {"p": Hold(NOON, "", False, 0)})


def test_parked_until_tells_doctor_when_and_why(tmp_path: Path) -> None:
    config = Desk(tmp_path, "http://127.0.0.1:9/v1").config
    memo = Memo().after_failure("http://127.0.0.1:9/v1", "timeout", NOON)
    assert parked_until(memo, config, NOON) == (
        NOON + timedelta(minutes=1),
        "1 failure in a row (last: timeout)",
    )
    assert parked_until(memo, config, NOON + timedelta(minutes=1)) is None


# Which models are offered


def test_offered_models_are_listed_without_spending_a_call(tmp_path: Path) -> None:
    with FakeModel([], models=("a/b", "c:free")) as server:
        assert offered_models(desk_of(tmp_path, server).config, NOON) == frozenset({"a/b", "c:free"})
    assert server.requests[0].path == "/v1/models"


@pytest.mark.parametrize("body", [{"models": [{"name": "x"}, 5]}, [{"id": "x"}]])
def test_other_shapes_of_the_list_are_read(tmp_path: Path, body: Any) -> None:
    with FakeModel(lambda request: sends(body)) as server:
        assert offered_models(desk_of(tmp_path, server).config, NOON) == frozenset({"x"})


@pytest.mark.parametrize(
    "reply", [sends("<html>"), sends("[oops"), sends({"error": "x"}), fails(500, "x"), sends("{}")]
)
def test_a_list_that_cannot_be_had_is_a_failure_not_an_empty_one(tmp_path: Path, reply: Any) -> None:
    with FakeModel(lambda request: reply) as server, pytest.raises(ModelsFailed, match="/v1/models: "):
        offered_models(desk_of(tmp_path, server).config, NOON)


def test_a_refused_key_is_told_by_the_list_too(tmp_path: Path) -> None:
    with FakeModel(lambda request: fails(401, "no")) as server, pytest.raises(KeyRefused):
        offered_models(desk_of(tmp_path, server).config, NOON)


# Costs of not asking


def test_a_parked_question_imports_no_http_client(tmp_path: Path) -> None:
    program = (
        "import sys; from llm_testing import *; from pathlib import Path\n"
        f"desk = Desk(Path({str(tmp_path)!r}), 'http://127.0.0.1:9/v1', LLM_DAILY_CALL_LIMIT='0')\n"
        "from _errors import ModelParked\n"
        "try: desk.ask('one')\n"
        "except ModelParked: print(sorted({'requests', 'urllib3'} & set(sys.modules)))\n"
    )
    folders = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "scripts")]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {folders!r}\n{program}"],
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_nothing_is_asked_with_provider_none(tmp_path: Path) -> None:
    with FakeModel(says(ENTRY)) as server, pytest.raises(ConfigError, match="LLM_PROVIDER is none"):
        desk_of(tmp_path, server, LLM_PROVIDER="none").ask("one")
    assert server.requests == []
