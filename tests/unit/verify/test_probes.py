"""Prompts: their lengths, that they are new each time, and how answers are read."""

from typing import Any

import pytest

from rayspan.verify import probes
from rayspan.verify.probes import NEW_TOKENS, Answer, Probe, ask, choose_lengths, make_probes


def test_lengths_surround_every_block_boundary() -> None:
    assert choose_lengths((32,), 512, 2048) == (1, 31, 32, 33, 529)
    assert choose_lengths((16, 32), 64, 2048) == (1, 15, 16, 17, 31, 32, 33, 81)


def test_lengths_leave_room_for_the_answer() -> None:
    assert choose_lengths((32,), 512, 64) == (1, 31, 32, 33, 64 - NEW_TOKENS)


def test_a_block_of_one_token_has_no_empty_prompt() -> None:
    assert choose_lengths((1,), 4, 2048) == (1, 2, 5)


def test_a_seed_gives_the_same_prompts_and_another_seed_others() -> None:
    first, again, other = (make_probes((3, 40), 512, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert [len(probe.prompt) for probe in first] == [3, 40]
    assert all(16 <= token < 512 for probe in first for token in probe.prompt)


CHOICE = {"prompt_token_ids": [5, 6], "token_ids": [1, 2]}


@pytest.mark.parametrize(
    ("status", "body", "answer"),
    [
        (200, {"choices": [CHOICE]}, Answer(Probe((5, 6)), (1, 2))),
        (
            200,
            {"choices": [CHOICE | {"prompt_token_ids": [0, 5, 6]}]},
            Answer(
                Probe((5, 6)),
                error="the endpoint did not take the prompt as the token ids given",
            ),
        ),
        (400, {"error": "no"}, Answer(Probe((5, 6)), error="status 400: {'error': 'no'}")),
        (
            200,
            {"choices": [CHOICE | {"token_ids": None}]},
            Answer(
                Probe((5, 6)),
                error="status 200: {'choices': [{'prompt_token_ids': [5, 6], 'token_ids': None}]}",
            ),
        ),
    ],
)
def test_answers_are_read(
    status: int, body: dict[str, Any], answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, Any]] = []

    def post_json(url: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        assert url == "http://there/v1/completions"
        sent.append(asked)
        return status, body

    monkeypatch.setattr(probes, "post_json", post_json)
    assert ask("http://there", "m", Probe((5, 6))) == answer
    assert (sent[0]["temperature"], sent[0]["prompt"]) == (0, [5, 6])
