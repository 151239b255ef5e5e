"""Drills on real engines: what they find in plain Ray Serve LLM, and what the guard makes of it."""

import json
from typing import Any

import pytest

from tests.integration.conftest import Stack
from tests.tree import example

LEASE = "  kv_lease_s: 6\n"


def spec(server: str) -> str:
    kind = "  kind: prefill-decode\n"
    return example("local-pd").replace(kind, f"{kind}  server: {server}\n{LEASE}")


def drill(stack: Stack, *names: str) -> dict[str, dict[str, Any]]:
    result = stack.run("drill", *names, "--json")
    assert result.stdout, result.stderr
    return {one["drill"]: one for one in json.loads(result.stdout)}


def test_late_reads_end_with_errors_and_a_dead_engine_is_replaced(stack: Stack) -> None:
    stack.serve(spec("rayspan"))
    results = drill(stack, "slow-client", "late-decode", "kill-prefill-read")
    assert {one["verdict"] for one in results.values()} == {"pass"}, results
    assert results["slow-client"]["clients"] == {"right": 21}
    late = results["late-decode"]
    assert late["clients"]["error"] >= 4, late
    assert late["restarted"] == []
    (gone,) = results["kill-prefill-read"]["restarted"]
    assert gone.startswith("prefill ")


def test_without_the_guard_a_late_read_is_a_wrong_answer(stack: Stack) -> None:
    stack.serve(spec("upstream"))
    late = drill(stack, "late-decode")["late-decode"]
    assert late["verdict"] == "fail", late
    assert late["tokens_wrong"] > 0
    assert "wrong" in late["summary"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "there is no drill 'nonsense'; allowed: slow-client"),
        ([], "name drills, or --all"),
    ],
)
def test_bad_input_is_one_line(stack: Stack, arguments: list[str], words: str) -> None:
    result = stack.run("drill", *arguments)
    assert result.returncode == 2
    assert words in result.stderr
