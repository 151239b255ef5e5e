"""`rayspan verify` on sound deployments, and on ones that are really broken, each in one way."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.broken import as_plugin
from tests.integration.conftest import Stack
from tests.tree import ROOT

SPEC = """
model: {{id: m, source: "builtin:smollm2-135m", max_model_len: 2048, dtype: {dtype}}}
serving:
  kind: prefill-decode
  prefill: {{block_size: 32, kv_cache: 256MiB, max_num_batched_tokens: 512}}
  decode: {{block_size: 32, kv_cache: 256MiB, max_num_batched_tokens: 512}}
  transport: {{kind: {transport}}}
  kv_lease_s: {lease}
"""
COLOCATED = """
model: {id: m, source: "builtin:smollm2-135m", max_model_len: 2048, dtype: float32}
serving: {kind: colocated, block_size: 32, kv_cache: 256MiB, max_num_batched_tokens: 512}
"""

Checks = dict[str, dict[str, Any]]


def spec(transport: str = "ucx", lease: int = 60, dtype: str = "float32") -> str:
    return SPEC.format(transport=transport, lease=lease, dtype=dtype)


def verify(stack: Stack, env: dict[str, str] | None = None) -> Checks:
    result = stack.run("verify", "--json", env=env)
    assert result.returncode in (0, 1), result.stderr
    return {check["name"]: check for check in json.loads(result.stdout)["checks"]}


def verdicts(checks: Checks) -> dict[str, str]:
    return {name: check["verdict"] for name, check in checks.items()}


ALL_PASS = dict.fromkeys(["split", "bytes", "transport", "parity", "failures", "leaks"], "pass")


def test_the_default_passes_every_check(stack: Stack) -> None:
    stack.serve()
    checks = verify(stack)
    assert verdicts(checks) == ALL_PASS, checks


def test_tcp_passes_every_check(stack: Stack) -> None:
    stack.serve(spec(transport="tcp"))
    checks = verify(stack)
    assert verdicts(checks) == ALL_PASS, checks


def test_colocated_skips_what_does_not_apply(stack: Stack) -> None:
    stack.serve(COLOCATED)
    checks = verify(stack)
    skipped = dict.fromkeys(["split", "bytes", "transport", "failures"], "skip")
    assert verdicts(checks) == ALL_PASS | skipped, checks


@pytest.mark.parametrize("name", ["local-2p2d", "local-colocated-2"])
def test_pools_of_several_engines_pass(stack: Stack, name: str) -> None:
    split = "p2d" in name
    stack.serve((ROOT / "examples" / name / "spec.yaml").read_text())
    checks = verify(stack)
    skipped = {} if split else dict.fromkeys(["split", "bytes", "transport", "failures"], "skip")
    assert verdicts(checks) == ALL_PASS | skipped, checks
    replicas = json.loads(stack.run("status", "--json").stdout)["replicas"]
    assert [r["state"] for r in replicas] == ["RUNNING"] * (4 if split else 2)


def test_a_transport_other_than_asked_fails(stack: Stack) -> None:
    """The engines run over whatever UCX likes; the record says that TCP alone was asked for."""
    stack.serve(spec())
    path = stack.folder / "deployment.json"
    record = path.read_text()
    wrong = json.loads(record)
    wrong["spec"]["serving"]["transport"]["kind"] = "tcp"
    try:
        path.write_text(json.dumps(wrong))
        checks = verify(stack)
    finally:
        path.write_text(record)
    assert verdicts(checks) == ALL_PASS | {"transport": "fail"}, checks


def test_a_backend_other_than_asked_fails(stack: Stack, tmp_path: Path) -> None:
    stack.serve(spec(), env=as_plugin("other_backend", tmp_path))
    checks = verify(stack)
    assert verdicts(checks)["transport"] == "fail", checks
    assert "UCX + POSIX, expected UCX" in checks["transport"]["summary"]


def test_a_proxy_that_skips_prefill_fails(stack: Stack, tmp_path: Path) -> None:
    stack.serve(spec(), env=as_plugin("skip_prefill", tmp_path))
    checks = verify(stack)
    assert (verdicts(checks)["split"], verdicts(checks)["bytes"]) == ("fail", "fail"), checks
    assert verdicts(checks)["failures"] == "inconclusive"
    assert verdicts(checks)["parity"] == "pass"  # and nothing but the counters can tell


def test_blocks_that_are_not_read_fail(stack: Stack, tmp_path: Path) -> None:
    stack.serve(spec(), env=as_plugin("lose_blocks", tmp_path))
    checks = verify(stack)
    assert (verdicts(checks)["bytes"], verdicts(checks)["parity"]) == ("fail", "fail"), checks
    assert verdicts(checks)["split"] == "pass"  # the scheduler believes it has them


def test_a_kernel_that_is_wrong_everywhere_fails(stack: Stack, tmp_path: Path) -> None:
    """The colocated reference is as wrong as the deployment: transformers alone can tell."""
    broken = as_plugin("wrong_rope", tmp_path)
    stack.serve(spec(), env=broken)
    checks = verify(stack, env=broken)
    parity = checks["parity"]
    assert parity["verdict"] == "fail", checks
    wrong = {item["where"].split(" against ")[1].split(",")[0] for item in wrong_evidence(parity)}
    assert all("transformers" in against for against in wrong), wrong


def wrong_evidence(check: dict[str, Any]) -> list[dict[str, Any]]:
    return [e for e in check["evidence"] if not e["holds"] and " against " in e["where"]]


def test_kv_that_is_never_released_fails(stack: Stack, tmp_path: Path) -> None:
    stack.serve(spec(lease=6), env=as_plugin("keep_blocks", tmp_path))
    checks = verify(stack)
    assert verdicts(checks)["leaks"] == "fail", checks
    assert "prefill" in checks["leaks"]["summary"]


@pytest.mark.skipif(
    "amx_tile" not in Path("/proc/cpuinfo").read_text(), reason="this CPU has no AMX"
)
def test_the_wrong_attention_of_bfloat16_on_amx_fails(stack: Stack) -> None:
    """A defect of the stack row, in every engine alike: only an independent reference sees it."""
    stack.serve(spec(dtype="bfloat16").replace("block_size: 32", "block_size: 128"))
    assert verdicts(verify(stack))["parity"] == "fail"
