"""Each way in which a client can be answered, and left without an answer."""

import json
from typing import Any

import pytest

from rayspan.drill.crowd import Crowd, Got, body_of
from rayspan.drill.told import Kind, classify
from rayspan.verify.parity import Continuation
from rayspan.verify.probes import Probe

PROBE = Probe((5, 6, 7))
OWN = Continuation((1, 2, 3), (9.0, 0.2, 9.0))


def whole(ids: list[int], reason: str | None = "length") -> str:
    choice = {"index": 0, "text": "x", "token_ids": ids, "finish_reason": reason}
    return json.dumps({"choices": [choice]})


def stream(*events: dict[str, Any]) -> str:
    return "".join(f"data: {json.dumps(e)}\n\n" for e in events) + "data: [DONE]\n\n"


def piece(ids: list[int], reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "text": "x", "token_ids": ids, "finish_reason": reason}]}


ERROR = json.dumps({"error": {"message": "no luck", "code": 500}})


@pytest.mark.parametrize(
    ("status", "text", "seconds", "kind"),
    [
        (200, whole([1, 2, 3]), 1, Kind.RIGHT),
        (200, stream(piece([1, 2]), piece([3], "length")), 1, Kind.RIGHT),
        (200, whole([1, 2, 4]), 1, Kind.WRONG),
        (200, whole([1, 2]), 1, Kind.WRONG),
        (200, stream(piece([4], "length")), 1, Kind.WRONG),
        (200, whole([], "error"), 1, Kind.ERROR),
        (500, ERROR, 1, Kind.ERROR),
        (503, "<html>", 1, Kind.ERROR),
        (200, stream({"error": {"message": "no luck"}}), 1, Kind.ERROR),
        (200, "data: [DONE]\n\n", 1, Kind.EMPTY),
        (200, "", 1, Kind.EMPTY),
        (200, "data: {}\n\n", 1, Kind.EMPTY),
        (0, "connection refused", 1, Kind.CUT_OFF),
        (0, "timed out", 60, Kind.HUNG),
    ],
)
def test_answers(status: int, text: str, seconds: float, kind: Kind) -> None:
    told = classify(Got(PROBE, 3, status, text, seconds), OWN, 0.0, 60)
    assert told.kind is kind, told
    assert bool(told.tokens_wrong) == (kind is Kind.WRONG)


def test_tokens_are_wrong_from_the_first_difference_on() -> None:
    told = classify(Got(PROBE, 3, 200, whole([1, 9, 3]), 1), OWN, 0.0, 60)
    assert told.tokens_wrong == 2


@pytest.mark.parametrize(("near", "kind"), [(0.25, Kind.RIGHT), (0.1, Kind.WRONG)])
def test_rounding_may_turn_a_near_tie(near: float, kind: Kind) -> None:
    told = classify(Got(PROBE, 3, 200, whole([1, 9, 3]), 1), OWN, near, 60)
    assert told.kind is kind


def test_an_answer_without_a_reference_is_not_called_right() -> None:
    with pytest.raises(ValueError, match="needs a reference"):
        classify(Got(PROBE, 3, 200, whole([1, 2, 3]), 1), None, 0.0, 60)


def test_a_crowd_streams_every_other_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def exchange(_: str, body: dict[str, Any], __: float) -> tuple[int, str]:
        asked.append(body)
        return 200, whole([1, 2, 3])

    monkeypatch.setattr("rayspan.drill.crowd.exchange", exchange)
    crowd = Crowd("http://here", "m", 60)
    crowd.send([PROBE] * 4, 3)
    got = crowd.gather()
    assert [one.new_tokens for one in got] == [3] * 4
    assert all(one.has_tokens for one in got)
    assert sorted(body["stream"] for body in asked) == [False, False, True, True]
    assert crowd.waiting == 0
    assert body_of("m", PROBE, 3, stream=False)["temperature"] == 0
