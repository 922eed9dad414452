"""The client: a good answer, the ways an endpoint fails, retries on an injected clock, the budget, cancelling."""

from __future__ import annotations

import pytest

from kernel_lineage.rewrite.model.client import Budget, ModelError, Patience, ask, estimated_tokens
from kernel_lineage.rewrite.model.settings import ModelSettings
from rewrite.protocol_server import ProtocolServer, Reply

MESSAGES = [{"role": "user", "content": "rewrite this"}]


def settings_for(server: ProtocolServer, **changes: object) -> ModelSettings:
    return ModelSettings(base_url=server.url, model="m", **changes)  # type: ignore[arg-type]


@pytest.mark.long
def test_a_good_answer_is_given_whole_and_charged_by_what_the_endpoint_says() -> None:
    text = '{"answer": "' + "x" * 1000 + '"}'
    with ProtocolServer(Reply(text, tokens=321)).running() as server:
        budget = Budget(10_000)
        answer = ask(settings_for(server, api_key="secret"), MESSAGES, budget)
    assert answer.text == text
    assert (budget.spent, budget.left) == (321, 9679)
    assert server.authorisations == ["Bearer secret"]
    assert server.requests[0]["response_format"]["type"] == "json_schema"


def test_an_endpoint_that_reports_no_usage_is_charged_by_an_estimate() -> None:
    with ProtocolServer(Reply("hello", tokens=None)).running() as server:
        budget = Budget(10_000)
        ask(settings_for(server), MESSAGES, budget)
    assert budget.spent == estimated_tokens("rewrite this") + estimated_tokens("hello")


FAILURES = {
    "401": (Reply(status=401, error="bad key"), "key", "the key was refused. It says: bad key"),
    "404": (Reply(status=404), "request", "knows no model 'm'"),
    "400": (Reply(status=400, error="context too long"), "request", "context too long"),
    "redirect": (Reply(status=307, headers={"Location": "http://127.0.0.1:9/"}), "request", "not followed"),
    "429 for good": (Reply(status=429), "limit", "also after waiting"),
    "quota": (Reply(status=429, error="insufficient_quota"), "limit", "quota"),
    "503 for good": (Reply(status=503), "unavailable", "fails (503)"),
    "cut connection": (Reply("x" * 4000, cut=True), "connection", "connection to 127.0.0.1"),
    "no finish": (Reply("half an ans", finish=None), "truncated", "broke off"),
    "length": (Reply("half an ans", finish="length"), "truncated", "cut off at"),
    "refusal": (Reply("", refusal="I cannot do this"), "declined", "I cannot do this"),
    "content filter": (Reply("", finish="content_filter"), "declined", "content filter"),
    "endless": (Reply("x" * 400_000), "budget", "longer than the"),
    "not the protocol": (Reply(raw=b"data: {nonsense\n\n"), "truncated", "not the protocol's"),
    "error in the stream": (
        Reply(raw=b'data: {"error": {"message": "overloaded"}}\n\n'),
        "unavailable",
        "overloaded",
    ),
}


@pytest.mark.parametrize(("reply", "problem", "message"), FAILURES.values(), ids=FAILURES)
def test_a_failure_says_what_happened(reply: Reply, problem: str, message: str) -> None:
    with ProtocolServer(reply).running() as server, pytest.raises(ModelError) as caught:
        ask(settings_for(server, api_key="k"), MESSAGES, Budget(60_000), Patience(sleep=lambda _: None))
    assert caught.value.problem == problem
    assert message in str(caught.value)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_retried_with_growing_waits(status: int) -> None:
    waits: list[float] = []
    with ProtocolServer(Reply(status=status), Reply(status=status), Reply("fine")).running() as server:
        answer = ask(settings_for(server), MESSAGES, Budget(60_000), Patience(sleep=waits.append))
    assert answer.text == "fine"
    assert waits == [1.0, 2.0]


def test_the_endpoints_own_waiting_time_is_kept() -> None:
    waits: list[float] = []
    slow = Reply(status=429, headers={"Retry-After": "7"})
    with ProtocolServer(slow, Reply("fine")).running() as server:
        ask(settings_for(server), MESSAGES, Budget(60_000), Patience(sleep=waits.append))
    assert waits == [7.0]


def test_a_waiting_time_beyond_patience_is_a_refusal_at_once() -> None:
    waits: list[float] = []
    with (
        ProtocolServer(Reply(status=429, headers={"Retry-After": "3600"})).running() as server,
        pytest.raises(ModelError),
    ):
        ask(settings_for(server), MESSAGES, Budget(60_000), Patience(sleep=waits.append))
    assert waits == []


def test_an_endpoint_without_strict_json_or_max_tokens_is_asked_in_a_plainer_way() -> None:
    refusals = [
        Reply(status=400, error="Unsupported parameter: use max_completion_tokens"),
        Reply(status=400, error="response_format json_schema is not supported"),
        Reply(status=400, error="response_format is not supported"),
        Reply(status=400, error="unknown field stream_options"),
    ]
    with ProtocolServer(*refusals, Reply("fine")).running() as server:
        assert ask(settings_for(server), MESSAGES, Budget(60_000)).text == "fine"
    last = server.requests[-1]
    assert "response_format" not in last
    assert "stream_options" not in last
    assert "max_completion_tokens" in last


def test_an_endpoint_that_says_nothing_runs_into_the_time_limit() -> None:
    with ProtocolServer(Reply(stall=True)).running() as server, pytest.raises(ModelError) as caught:
        ask(settings_for(server, request_seconds=0.05), MESSAGES, Budget(60_000))
    assert caught.value.problem == "timeout"


def test_an_endpoint_that_dribbles_runs_into_the_time_limit() -> None:
    ticks = iter(range(0, 100_000, 50))
    with ProtocolServer(Reply("x" * 4000)).running() as server, pytest.raises(ModelError) as caught:
        ask(settings_for(server), MESSAGES, Budget(60_000), Patience(now=lambda: next(ticks)))
    assert caught.value.problem == "timeout"


def test_nothing_listening_is_a_connection_problem_after_retries() -> None:
    with ProtocolServer(Reply("x")).running() as server:
        settings = settings_for(server)
    waits: list[float] = []
    with pytest.raises(ModelError) as caught:
        ask(settings, MESSAGES, Budget(60_000), Patience(sleep=waits.append))
    assert caught.value.problem == "connection"
    assert waits == [1.0, 2.0, 4.0]


def test_a_request_beyond_the_budget_is_not_sent() -> None:
    with ProtocolServer(Reply("x")).running() as server, pytest.raises(ModelError) as caught:
        ask(settings_for(server), [{"role": "user", "content": "x" * 3000}], Budget(1_000))
    assert caught.value.problem == "budget"
    assert server.requests == []


def test_cancelling_stops_in_the_middle_of_an_answer() -> None:
    asked = iter([False, False, True])
    with ProtocolServer(Reply("x" * 4000)).running() as server, pytest.raises(ModelError) as caught:
        ask(settings_for(server), MESSAGES, Budget(60_000), Patience(cancelled=lambda: next(asked)))
    assert caught.value.problem == "cancelled"


def test_a_key_that_an_endpoint_echoes_is_not_repeated() -> None:
    echo = Reply(status=401, error="Incorrect API key provided: sk-abcdef")
    with ProtocolServer(echo).running() as server, pytest.raises(ModelError) as caught:
        ask(settings_for(server, api_key="sk-abcdef"), MESSAGES, Budget(60_000))
    assert "sk-abcdef" not in str(caught.value)
