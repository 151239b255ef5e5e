"""Which transfer parameters a decode engine may be given."""

from typing import Any

import pytest

from rayspan.serving.guard.transfer_params import find_problem

GOOD: dict[str, Any] = {
    "do_remote_prefill": True,
    "do_remote_decode": False,
    "remote_engine_id": "e",
    "remote_request_id": "r",
    "remote_host": "10.0.0.1",
    "remote_port": 20000,
    "remote_block_ids": ([1, 2], []),
    "tp_size": 2,
}


@pytest.mark.parametrize("params", [None, {}, {"do_remote_decode": True}, GOOD, GOOD | {"x": 1}])
def test_sound_ones_have_no_problem(params: dict[str, Any] | None) -> None:
    assert find_problem(params) == ""


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"remote_engine_id": None}, "remote_engine_id"),
        ({"remote_request_id": ""}, "remote_request_id"),
        ({"remote_host": 7}, "remote_host"),
        ({"remote_port": "20000"}, "remote_port"),
        ({"remote_port": 65536}, "remote_port"),
        ({"remote_block_ids": None}, "remote_block_ids"),
        ({"remote_block_ids": []}, "no block is named"),
        ({"remote_block_ids": [[], []]}, "no block is named"),
        ({"remote_block_ids": [[-1]]}, "remote_block_ids.0.0"),
        ({"remote_block_ids": [["1"]]}, "remote_block_ids.0.0"),
        ({"tp_size": 0}, "tp_size"),
    ],
)
def test_each_wrong_one_is_named(wrong: dict[str, Any], where: str) -> None:
    assert where in find_problem(GOOD | wrong)


@pytest.mark.parametrize("name", [n for n in GOOD if n.startswith("remote_")])
def test_each_missing_one_is_named(name: str) -> None:
    assert name in find_problem({k: v for k, v in GOOD.items() if k != name})
