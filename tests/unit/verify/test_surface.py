"""The surface check: the reference's answer, a clean refusal, or neither."""

import json
from typing import Any

import pytest

from rayspan.verify.replies import Reply, read_reply
from rayspan.verify.roster import Roster
from rayspan.verify.surface import Asked, check_surface
from rayspan.verify.surface_cases import CHAT, TEXT, Case, surface_cases
from rayspan.verify.surface_probes import ask_surface, reference_requests
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, Verdict
from tests.unit.verify.recorded import ROSTER, SMOL, Deployment, spec_of, split_target

CASE = Case("text", TEXT, {"prompt": "a"})
EITHER = Case("text n 2", TEXT, {"prompt": "a", "n": 2}, may_refuse=True)


def answer(text: str = " Paris", **more: Any) -> Reply:
    choice = {"index": 0, "text": text, "finish_reason": "length", "token_ids": [1, 2]} | more
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    return 200, json.dumps({"id": "x", "choices": [choice], "usage": usage})


def logprobs(*leads: float) -> dict[str, Any]:
    tops = [{"a": 0.0, "b": -lead} for lead in leads]
    return {
        "tokens": ["a"] * len(leads),
        "token_logprobs": [0.0] * len(leads),
        "top_logprobs": tops,
    }


def stream(*pieces: dict[str, Any], end: str = "data: [DONE]\n\n") -> Reply:
    return 200, "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + end


REFUSED = (400, json.dumps({"error": {"message": "n: not here", "code": 400}}))
SURE = answer(logprobs=logprobs(5.0, 5.0))


def check(reply: Reply, reference: Reply, case: Case = CASE, leads: Reply = SURE) -> Check:
    asked = [Asked(case, reply, reference, leads)]
    return check_surface(split_target(), asked, "", ROSTER, ROSTER)


def test_the_references_answer_passes() -> None:
    found = check(answer(), answer())
    assert found.verdict is Verdict.PASS
    assert found.summary == "1 kinds of request answered as by one engine, 0 refused"


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (answer(" Rome"), "text, text: ' Rome', expected ' Paris'"),
        (answer(finish_reason="stop"), "finish_reason: 'stop', expected 'length'"),
        (answer(token_ids=[1, 3]), "token ids: [1, 3], expected [1, 2]"),
        (answer(logprobs=logprobs(1.0)), "text, tokens: ['a'], expected None"),
        ((500, json.dumps({"error": {"message": "engine died"}})), "500 engine died"),
        ((400, "Bad Request"), "400 without an error message"),
        ((0, "connection refused"), "0 without an error message: 'connection refused'"),
        ((200, "<html>"), "200 with what is no answer"),
        (REFUSED, "refused: 400 n: not here"),
        (stream(end="data: [DONE]\n\n"), "number of answers: 0, expected 1"),
        (stream({"error": {"message": "read failed"}}), "200 with an error in it"),
        (stream({"choices": []}, end=""), "ended without [DONE]"),
    ],
)
def test_anything_else_fails_and_says_what(reply: Reply, says: str) -> None:
    found = check(reply, answer())
    assert found.verdict is Verdict.FAIL
    assert says in found.summary


def test_logprobs_may_be_a_little_apart() -> None:
    def told(value: float) -> Reply:
        return answer(logprobs={"tokens": ["a"], "token_logprobs": [value], "top_logprobs": None})

    assert check(told(-0.5), told(-0.505)).verdict is Verdict.PASS
    assert check(told(-0.5), told(-0.52)).verdict is Verdict.FAIL


def test_a_clean_refusal_is_as_good_where_it_may_be() -> None:
    assert check(REFUSED, answer(), EITHER).verdict is Verdict.PASS
    assert check(REFUSED, REFUSED).verdict is Verdict.PASS
    assert check(answer(), REFUSED, EITHER).verdict is Verdict.FAIL


def test_a_stream_is_joined() -> None:
    last = {"index": 0, "delta": {"content": " end"}, "token_ids": [2], "finish_reason": "stop"}
    pieces = (
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
        {"choices": [{"index": 0, "delta": {"content": "The"}, "token_ids": [1]}]},
        {"choices": [last]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    )
    told = read_reply(stream(*pieces))
    assert told.choices[0].said == {"content": "The end", "finish_reason": "stop"}
    assert (told.choices[0].token_ids, told.usage) == ([1, 2], (3, 2))


def test_chat_logprobs_and_tools_are_read() -> None:
    entry = {"token": "a", "logprob": -0.1, "top_logprobs": [{"logprob": -0.1}, {"logprob": -2.1}]}
    tools = [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]
    choice = {
        "index": 0,
        "message": {"content": None, "tool_calls": tools},
        "logprobs": {"content": [entry]},
        "finish_reason": "tool_calls",
    }
    told = read_reply((200, json.dumps({"choices": [choice]}))).choices[0]
    assert told.said["tools"] == [{"name": "f", "arguments": "{}"}]
    assert (told.said["tokens"], told.logprobs, told.leads) == (["a"], [-0.1], [2.0])


@pytest.mark.parametrize(
    ("dtype", "lead", "verdict"),
    [
        ("bfloat16", 0.1, Verdict.PASS),
        ("bfloat16", 0.3, Verdict.FAIL),
        ("float32", 0.0, Verdict.FAIL),
    ],
)
def test_a_near_tie_is_excused_as_in_parity(dtype: str, lead: float, verdict: Verdict) -> None:
    leads = answer(logprobs=logprobs(5.0, lead))
    asked = [Asked(CASE, answer(" Rome", token_ids=[1, 7]), answer(), leads)]
    found = check_surface(split_target(dtype=dtype), asked, "", ROSTER, ROSTER)
    assert found.verdict is verdict


def test_an_engine_that_is_gone_fails() -> None:
    asked = [Asked(CASE, answer(), answer(), SURE)]
    after = Roster(ROSTER.members[:1])
    found = check_surface(split_target(), asked, "", ROSTER, after)
    assert found.verdict is Verdict.FAIL
    assert "decode d0 on worker-2 still runs: False, expected True" in found.summary


def test_without_a_reference_it_stays_open() -> None:
    found = check_surface(split_target(), [], "no memory", ROSTER, ROSTER)
    assert (found.verdict, found.summary) == (Verdict.INCONCLUSIVE, "no reference: no memory")


def test_every_feature_has_a_request() -> None:
    cases = surface_cases(Target(spec_of(), SMOL, end_token=2))
    names = {case.name for case in cases}
    assert len(names) == len(cases)
    assert {"text stream", "text end first", "text too long", "chat tools", "text prompts"} <= names
    others = {case.name for case in cases if case.body["model"] != "m"}
    assert others == {"unknown model"}
    long = next(case for case in cases if case.name == "text too long")
    assert len(long.body["prompt"]) == 2049
    fewer = {case.name for case in surface_cases(Target(spec_of(), SMOL))}
    assert names - fewer == {"text end first", "chat end first"}


def test_the_reference_also_tells_how_sure_it_is() -> None:
    cases = (CASE, Case("chat", CHAT, {"messages": [], "stream": True}))
    plain = [(TEXT, {"prompt": "a"}), (CHAT, {"messages": [], "stream": True})]
    assert reference_requests(split_target(), cases) == plain
    assert reference_requests(split_target(dtype="bfloat16"), cases) == [
        *plain,
        (TEXT, {"prompt": "a", "logprobs": 2}),
        (CHAT, {"messages": [], "logprobs": True, "top_logprobs": 2}),
    ]


def test_the_deployment_is_asked_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Any]] = []

    def exchange(url: str, body: Any) -> Reply:
        asked.append((url, body))
        return answer()

    monkeypatch.setattr("rayspan.verify.surface_probes.exchange", exchange)
    found = ask_surface(Deployment(spec_of()), (CASE,), (answer(" Rome"), SURE))
    assert asked == [("http://there/v1/completions", {"prompt": "a"})]
    assert found == (Asked(CASE, answer(), answer(" Rome"), SURE),)
    (alone,) = ask_surface(Deployment(spec_of()), (CASE,), (answer(" Rome"),))
    assert alone.leads is None
    assert ask_surface(Deployment(spec_of()), (CASE,), ()) == ()
