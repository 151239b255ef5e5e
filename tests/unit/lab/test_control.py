"""What the negative control makes of a broken pair's checks."""

import pytest

from rayspan.cli.output import StepPrinter
from rayspan.lab.control import judge_control, negative_control
from rayspan.spec import parse_spec
from rayspan.verify import Check, Report, Verdict


def report(split: str = "pass", counted: str = "pass", wire: str = "fail") -> Report:
    said = {"split": split, "bytes": counted, "wire": wire}
    return Report(tuple(Check(name, Verdict(v), f"{name} said so") for name, v in said.items()), 1)


@pytest.mark.parametrize(
    ("checks", "verdict", "words"),
    [
        (report(), "pass", "the wire check failed, as it must: wire said so"),
        (report(wire="pass"), "fail", "the wire check is blind"),
        (report(wire="inconclusive"), "inconclusive", "wire inconclusive: wire said so"),
        (report(wire="skip"), "inconclusive", "wire skip"),
        (report(split="fail"), "inconclusive", "split fail"),
        (report(counted="inconclusive"), "inconclusive", "bytes inconclusive"),
    ],
)
def test_only_a_failed_wire_on_a_sound_pair_is_a_pass(
    checks: Report, verdict: str, words: str
) -> None:
    check = judge_control(checks)
    assert check.verdict == verdict
    assert words in check.summary


def test_a_colocated_spec_has_no_wire_to_break() -> None:
    spec = parse_spec("model: {id: m, source: org/m}\nserving: {kind: colocated}\n", "s")
    said = negative_control(spec, StepPrinter(), print)
    assert [check.verdict for check in said.checks] == [Verdict.SKIP]
    assert not said.passed
