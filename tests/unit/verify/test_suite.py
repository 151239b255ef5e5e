"""The suite: which checks run, in which order, and what the references are told."""

from typing import Any

import pytest

from rayspan.errors import WorldError
from rayspan.verify import references, suite
from rayspan.verify.parity import Continuation
from rayspan.verify.reader import Reader
from rayspan.verify.references import COLOCATED, INDEPENDENT, References, run_references
from rayspan.verify.target import Target
from tests.unit.verify.recorded import (
    ROSTER,
    SMOL,
    Deployment,
    observed,
    probes,
    scrape_of,
    spec_of,
)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A deployment that answers nothing; collects whether it was left to drain."""
    drained: list[bool] = []

    def observe(_: Any, __: Target, asked: Any, drain: bool, roster: Any = None) -> Any:
        drained.append(drain)
        assert asked
        return observed({}, given=(), held={})

    monkeypatch.setattr(suite, "observe", observe)
    monkeypatch.setattr(suite, "observe_pairs", lambda *_: ())
    monkeypatch.setattr(suite, "run_references", lambda *_: References(problem="no memory"))
    monkeypatch.setattr(suite, "read_roster", lambda _: ROSTER)
    monkeypatch.setattr(Reader, "settled", lambda _: scrape_of({}))
    monkeypatch.setattr(suite, "read_target", lambda deployed: Target(deployed.spec, SMOL))
    return drained


def test_a_silent_deployment_passes_nothing(silent: list[bool]) -> None:
    report = suite.run_verify(Deployment(spec_of(), "/nowhere"), seed=3)
    verdicts = {check.name: check.verdict.value for check in report.checks}
    names = ["split", "bytes", "wire", "pairs", "transport", "nccl", "logs", "metrics", "parity"]
    assert list(verdicts) == [*names, "surface", "failures", "leaks"]
    assert verdicts.pop("nccl") == "skip"
    assert set(verdicts.values()) == {"inconclusive"}
    assert (report.passed, report.seed, silent) == (False, 3, [True])


def test_the_quick_run_neither_drains_nor_refers(silent: list[bool]) -> None:
    report = suite.quick_verify(Deployment(spec_of(), "/nowhere"))
    assert [check.name for check in report.checks] == ["split", "bytes", "transport", "failures"]
    assert silent == [False]


def test_the_wire_alone(silent: list[bool]) -> None:
    report = suite.verify_wire(Deployment(spec_of(), "/nowhere"), seed=3)
    assert [check.name for check in report.checks] == ["split", "bytes", "wire"]
    assert silent == [False]


def test_references_get_the_prompts_and_the_engines_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs: dict[str, tuple[Any, Any]] = {}

    def run_json_job(module: str, job: Any, _: float, env: Any) -> Any:
        jobs[module] = (job, env)
        told = [{"token_ids": [1], "gaps": [0.5]}]
        replies = {"continuations": told, "replies": [[200, "{}"]]}
        return replies if "colocated" in module else told

    monkeypatch.setattr(references, "run_json_job", run_json_job)
    asked = [("/v1/completions", {"prompt": "a"})]
    found = run_references(spec_of(), "/m", probes((2,)), asked)
    assert [reference.name for reference in found.known] == [INDEPENDENT, COLOCATED]
    assert found.known[0].continuations == (Continuation((1,), (0.5,)),)
    assert found.replies == ((200, "{}"),)
    job, _ = jobs["rayspan.verify.reference"]
    assert job == {"model": "/m", "prompts": [[100, 101]], "new_tokens": 8}
    job, env = jobs["rayspan.verify.colocated_reference"]
    assert (job["name"], job["requests"]) == ("m", asked)
    assert (job["engine"]["dtype"], job["engine"]["block_size"]) == ("float32", 32)
    assert "kv_transfer_config" not in job["engine"]
    assert env["OMP_NUM_THREADS"] == "1"


def test_a_reference_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_json_job(module: str, *_: Any) -> Any:
        raise WorldError(f"{module} failed: out of memory")

    monkeypatch.setattr(references, "run_json_job", run_json_job)
    found = run_references(spec_of(), "/m", probes((2,)))
    assert ["out of memory" in reference.problem for reference in found.known] == [True, True]
    assert (found.replies, "out of memory" in found.problem) == ((), True)
