"""Jobs in a process of their own: results, failures and lateness."""

import sys
from pathlib import Path

import pytest

from rayspan.adapters.json_job import run_json_job
from rayspan.errors import WorldError

JOBS = {
    "good": "print('noise'); print_result({'twice': 2 * json.load(sys.stdin)['n']})",
    "silent": "pass",
    "broken": "raise SystemExit('no weights')",
    "slow": "import time; time.sleep(60)",
    "env": "import os; print_result(os.environ['COLOUR'])",
}


@pytest.fixture(autouse=True)
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "import json, sys\nfrom rayspan.adapters.json_job import print_result\n"
    for name, body in JOBS.items():
        (tmp_path / f"job_{name}.py").write_text(head + body)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert sys.executable


def test_the_result_is_found_among_noise() -> None:
    assert run_json_job("job_good", {"n": 21}, 30) == {"twice": 42}


def test_the_environment_is_passed() -> None:
    assert run_json_job("job_env", {}, 30, {"COLOUR": "red"}) == "red"


@pytest.mark.parametrize(
    ("name", "seconds", "says"),
    [
        ("silent", 30, "it said nothing"),
        ("broken", 30, "no weights"),
        ("slow", 0.5, "did not finish"),
    ],
)
def test_what_went_wrong_is_said(name: str, seconds: float, says: str) -> None:
    with pytest.raises(WorldError, match=says):
        run_json_job(f"job_{name}", {}, seconds)
