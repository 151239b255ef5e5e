from typing import Any

import pytest

from rayspan.serving.refusals import internal_field, under_prefill_decode


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"prompt": ["a", "b"]}, "prompt"),
        ({"prompt": [[1, 2], [3]]}, "prompt"),
        ({"n": 2}, "n"),
        ({"best_of": 2}, "best_of"),
        ({"echo": True, "logprobs": 0}, "echo"),
        ({"prompt_logprobs": 0}, "prompt_logprobs"),
        ({"min_tokens": 2}, "min_tokens"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
        ({"use_beam_search": True}, "use_beam_search"),
    ],
)
def test_what_prefill_decode_cannot_do_is_refused_by_field(
    fields: dict[str, Any], field: str
) -> None:
    refusal = under_prefill_decode(fields)
    assert refusal
    assert refusal.field == field
    assert refusal.message.startswith(f"{field}: ")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"prompt": "a", "n": 1, "best_of": None, "echo": True, "min_tokens": 0},
        {"prompt": ["a"], "logprobs": 2},
        {"prompt": [1, 2, 3], "echo": False, "logprobs": 1},
        {"prompt": [[1, 2, 3]]},
        {"messages": [], "tool_choice": "auto", "stop": ["x"], "stream": True},
    ],
)
def test_the_rest_is_let_through(fields: dict[str, Any]) -> None:
    assert under_prefill_decode(fields) is None


@pytest.mark.parametrize("field", ["kv_transfer_params", "ec_transfer_params"])
def test_transfer_parameters_are_between_engines_alone(field: str) -> None:
    refusal = internal_field({field: {"remote_host": "10.0.0.1"}})
    assert refusal
    assert refusal.field == field
    assert internal_field({field: None}) is None
