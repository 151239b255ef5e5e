"""The suite: which checks run, in which order, and what the references are told."""

from typing import Any

import pytest

from rayspan.errors import WorldError
from rayspan.verify import references, suite
from rayspan.verify.parity import Continuation
from rayspan.verify.references import COLOCATED, INDEPENDENT, run_references
from rayspan.verify.target import Target
from tests.unit.verify.recorded import SMOL, observed, probes, spec_of
from tests.unit.verify.test_target import Deployment


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A deployment that answers nothing; collects whether it was left to drain."""
    drained: list[bool] = []

    def observe(_: Any, __: Target, asked: Any, drain: bool) -> Any:
        drained.append(drain)
        assert asked
        return observed({}, given=())

    monkeypatch.setattr(suite, "observe", observe)
    monkeypatch.setattr(suite, "run_references", lambda *_: ())
    monkeypatch.setattr(suite, "read_target", lambda deployed: Target(deployed.spec, SMOL))
    return drained


def test_a_silent_deployment_passes_nothing(silent: list[bool]) -> None:
    report = suite.run_verify(Deployment(spec_of(), "/nowhere"), seed=3)
    assert [check.name for check in report.checks] == [
        "split",
        "bytes",
        "transport",
        "parity",
        "failures",
        "leaks",
    ]
    assert {check.verdict for check in report.checks} == {"inconclusive"}
    assert (report.passed, report.seed, silent) == (False, 3, [True])


def test_the_quick_run_neither_drains_nor_refers(silent: list[bool]) -> None:
    report = suite.quick_verify(Deployment(spec_of(), "/nowhere"))
    assert [check.name for check in report.checks] == ["split", "bytes", "transport", "failures"]
    assert silent == [False]


def test_references_get_the_prompts_and_the_engines_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs: dict[str, tuple[Any, Any]] = {}

    def run_json_job(module: str, job: Any, _: float, env: Any) -> Any:
        jobs[module] = (job, env)
        return [{"token_ids": [1], "gaps": [0.5]}]

    monkeypatch.setattr(references, "run_json_job", run_json_job)
    found = run_references(spec_of(), "/m", probes((2,)))
    assert [reference.name for reference in found] == [INDEPENDENT, COLOCATED]
    assert found[0].continuations == (Continuation((1,), (0.5,)),)
    job, _ = jobs["rayspan.verify.reference"]
    assert job == {"model": "/m", "prompts": [[100, 101]], "new_tokens": 8}
    job, env = jobs["rayspan.verify.colocated_reference"]
    assert (job["engine"]["dtype"], job["engine"]["block_size"]) == ("float32", 32)
    assert "kv_transfer_config" not in job["engine"]
    assert env["OMP_NUM_THREADS"] == "1"


def test_a_reference_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_json_job(module: str, *_: Any) -> Any:
        raise WorldError(f"{module} failed: out of memory")

    monkeypatch.setattr(references, "run_json_job", run_json_job)
    found = run_references(spec_of(), "/m", probes((2,)))
    assert ["out of memory" in reference.problem for reference in found] == [True, True]
