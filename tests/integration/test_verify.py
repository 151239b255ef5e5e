"""`rayspan verify` on sound deployments, and on ones that are really broken, each in one way.

A sound one gets every check. A broken one gets those that the fault is about, and those that must
not see it: the references alone take half a minute.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rayspan.local.run_folder import Deployment
from rayspan.spec import PrefillDecode, Spec
from rayspan.verify import Check, quick_verify, verify_wire
from rayspan.verify.engine_log import read_replica_logs
from rayspan.verify.engine_words import check_logs
from rayspan.verify.leaks import check_leaks
from rayspan.verify.observation import observe
from rayspan.verify.pair_probes import observe_pairs
from rayspan.verify.pairs import check_pairs
from rayspan.verify.parity import check_parity
from rayspan.verify.probes import make_probes
from rayspan.verify.reader import Reader
from rayspan.verify.references import run_references
from rayspan.verify.roster import read_roster
from rayspan.verify.target import read_target
from tests.broken import as_plugin
from tests.integration.conftest import Stack
from tests.tree import example

SPEC = """
model: {{id: m, source: "builtin:smollm2-135m", max_model_len: 2048, dtype: {dtype}}}
serving:
  kind: prefill-decode
  prefill: {{block_size: 32, kv_cache: 256MiB, max_num_batched_tokens: 512}}
  decode: {{block_size: 32, kv_cache: 256MiB, max_num_batched_tokens: 512}}
  transport: {{kind: {transport}}}
  kv_lease_s: {lease}
"""
SEED = 11
VOCABULARY = 49152

Checks = dict[str, dict[str, Any]]


def spec(transport: str = "ucx", lease: int = 60, dtype: str = "float32") -> str:
    return SPEC.format(transport=transport, lease=lease, dtype=dtype)


def verify(stack: Stack, *options: str) -> Checks:
    result = stack.run("verify", "--json", *options)
    assert result.returncode in (0, 1), result.stderr
    return {check["name"]: check for check in json.loads(result.stdout)["checks"]}


def verdicts(checks: Checks) -> dict[str, str]:
    return {name: check["verdict"] for name, check in checks.items()}


def by_name(checks: tuple[Check, ...]) -> dict[str, str]:
    return {check.name: check.verdict.value for check in checks}


SPLIT = ["split", "bytes", "wire", "pairs", "transport", "nccl", "logs"]
ALL_PASS = dict.fromkeys([*SPLIT, "metrics", "parity", "surface", "failures", "leaks"], "pass")
ALL_PASS |= {"nccl": "skip"}


def test_the_default_passes_every_check(stack: Stack) -> None:
    stack.serve()
    checks = verify(stack)
    assert verdicts(checks) == ALL_PASS | {"wire": "skip"}, checks
    assert checks["wire"]["summary"] == "P and D share a host"


def test_a_transport_other_than_asked_fails(stack: Stack) -> None:
    """The engines run over whatever UCX likes, here shared memory; TCP was to be asked for."""
    deployment = asking_for_tcp(stack.serve())
    quick, wire = quick_verify(deployment).checks, verify_wire(deployment).checks
    assert by_name(quick) == {
        "split": "pass",
        "bytes": "pass",
        "transport": "fail",
        "failures": "pass",
    }, quick
    assert by_name(wire) == {"split": "pass", "bytes": "pass", "wire": "fail"}, wire


def asking_for_tcp(deployment: Deployment) -> Deployment:
    serving = deployment.spec.serving
    assert isinstance(serving, PrefillDecode)
    transport = serving.transport.model_copy(update={"kind": "tcp"})
    asked = serving.model_copy(update={"transport": transport})
    wanted: Spec = deployment.spec.model_copy(update={"serving": asked})
    return replace(deployment, spec=wanted)


def test_two_by_two_over_tcp_pass_every_check(stack: Stack, tmp_path: Path) -> None:
    stack.serve(example("local-2p2d").replace("kind: ucx", "kind: tcp"))
    checks = verify(stack, "--record-counters", str(tmp_path))
    assert verdicts(checks) == ALL_PASS, checks
    assert "all 4 pairs" in checks["pairs"]["summary"]
    replicas = json.loads(stack.run("status", "--json").stdout)["replicas"]
    assert [(r["state"], r["node"]) for r in replicas] == [("RUNNING", "127.0.0.1")] * 4
    recording = json.loads((tmp_path / "counters.json").read_text())
    assert recording["facts"]["transport"] == "tcp"


def test_colocated_engines_skip_what_does_not_apply(stack: Stack) -> None:
    stack.serve(example("local-colocated-2"))
    checks = verify(stack)
    assert verdicts(checks) == ALL_PASS | dict.fromkeys([*SPLIT, "failures"], "skip"), checks


def test_one_pair_of_four_that_loses_blocks_is_named(stack: Stack, tmp_path: Path) -> None:
    deployment = stack.serve(example("local-2p2d"), env=as_plugin("lose_pair", tmp_path))
    target, roster = read_target(deployment), read_roster(deployment)
    rounds = observe_pairs(deployment, target, roster, SEED, Reader(deployment).settled())
    check = check_pairs(target, roster, rounds)
    assert check.verdict == "fail", check
    wrong = [item.where for item in check.evidence if not item.holds]
    assert len(set(wrong)) == 1, check
    assert wrong[0].startswith("bytes moved by ")
    assert "," not in wrong[0], "one pair, and no other"


def test_blocks_that_are_not_read_fail(stack: Stack, tmp_path: Path) -> None:
    stack.serve(spec("tcp"), env=as_plugin("lose_blocks", tmp_path))
    checks = verify(stack)
    seen = verdicts(checks)
    failing = dict.fromkeys(["bytes", "wire", "pairs", "parity"], "fail")
    seen.pop("surface")  # its prompts are short: what their lost blocks held may do as well
    expected = {name: verdict for name, verdict in ALL_PASS.items() if name != "surface"}
    assert seen == expected | failing, checks  # the scheduler believes it has them: split passes
    assert "bytes moved by" in checks["pairs"]["summary"]


def test_a_backend_other_than_asked_fails(stack: Stack, tmp_path: Path) -> None:
    """And a variable that vLLM does not know is told, for somebody believed in it."""
    env = as_plugin("other_backend", tmp_path) | {"VLLM_NIXL_BACKEND": "LIBFABRIC"}
    deployment = stack.serve(spec(), env=env)
    checks = {check.name: check for check in quick_verify(deployment).checks}
    assert checks["transport"].verdict == "fail"
    assert "UCX + POSIX, expected UCX" in checks["transport"].summary
    logs = read_replica_logs(deployment.log_folders, {})
    check = check_logs(read_target(deployment), read_roster(deployment), logs)
    assert check.verdict == "fail"
    assert "Unknown vLLM environment variable" in check.summary


def test_a_proxy_that_skips_prefill_fails(stack: Stack, tmp_path: Path) -> None:
    deployment = stack.serve(spec(), env=as_plugin("skip_prefill", tmp_path))
    quick = quick_verify(deployment).checks
    assert by_name(quick) == {
        "split": "fail",
        "bytes": "fail",
        "transport": "pass",
        "failures": "inconclusive",
    }, quick
    target, roster = read_target(deployment), read_roster(deployment)
    rounds = observe_pairs(deployment, target, roster, SEED, Reader(deployment).settled())
    check = check_pairs(target, roster, rounds)
    assert check.verdict == "fail"
    assert "probes that no prefill engine computed: 8, expected 0" in check.summary


def parity(deployment: Deployment) -> Check:
    """On two prompts: one within a block, and one of several steps."""
    target = read_target(deployment)
    probes = make_probes([33, 529], VOCABULARY, SEED)
    seen = observe(deployment, target, probes, drain=False)
    known = run_references(target.spec, deployment.model_folder, probes).known
    return check_parity(target, seen.answers, known)


def test_a_kernel_that_is_wrong_everywhere_fails(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The colocated reference is as wrong as the deployment: transformers alone can tell."""
    broken = as_plugin("wrong_rope", tmp_path)
    deployment = stack.serve(spec(), env=broken)
    monkeypatch.setenv("PYTHONPATH", broken["PYTHONPATH"])
    check = parity(deployment)
    assert check.verdict == "fail", check
    wrong = [e.where for e in check.evidence if not e.holds and " against " in e.where]
    assert wrong
    assert all("against transformers" in where for where in wrong), wrong


def test_kv_that_is_never_released_fails(stack: Stack, tmp_path: Path) -> None:
    deployment = stack.serve(spec(lease=6), env=as_plugin("keep_blocks", tmp_path))
    target = read_target(deployment)
    seen = observe(deployment, target, make_probes([33], VOCABULARY, SEED), drain=True)
    check = check_leaks(target, seen)
    assert check.verdict == "fail", check
    assert "prefill" in check.summary
