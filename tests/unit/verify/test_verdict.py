"""Reports: only a report in which something passed and nothing is open passes."""

import json

import pytest

from rayspan.verify.verdict import Check, Evidence, Report, Verdict, equal, judge

PASS, FAIL, SKIP, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.SKIP, Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("verdicts", "passed"),
    [
        ((PASS, PASS), True),
        ((PASS, SKIP), True),
        ((PASS, FAIL), False),
        ((PASS, OPEN), False),
        ((SKIP, SKIP), False),
        ((), False),
    ],
)
def test_when_a_report_passes(verdicts: tuple[Verdict, ...], passed: bool) -> None:
    report = Report(tuple(Check("c", verdict, "") for verdict in verdicts), seed=1)
    assert report.passed is passed


def test_no_evidence_is_no_pass() -> None:
    assert judge("c", "all well", []).verdict is OPEN


def test_what_does_not_hold_is_said() -> None:
    check = judge("c", "all well", [equal("a", 1, 1), equal("b", 2, 3)])
    assert (check.verdict, check.summary) == (FAIL, "b: 2, expected 3")


def test_a_report_is_plain_json() -> None:
    check = judge("c", "all well", [Evidence("a", "x", "x", True)], ["1 + 1 = 2"])
    assert json.loads(json.dumps(Report((check,), 7).to_dict())) == {
        "passed": True,
        "seed": 7,
        "checks": [
            {
                "name": "c",
                "verdict": "pass",
                "summary": "all well",
                "evidence": [{"where": "a", "observed": "x", "expected": "x", "holds": True}],
                "formula": ["1 + 1 = 2"],
            }
        ],
    }
