"""What a check says, and what it saw."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """`inconclusive` is what could not be seen, `skip` what does not apply: neither is a pass."""

    PASS = "pass"  # noqa: S105  (a verdict, no password)
    FAIL = "fail"
    SKIP = "skip"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing looked at: where, what was there, what had to be."""

    where: str
    observed: str | float
    expected: str | float
    holds: bool


@dataclass(frozen=True, slots=True)
class Check:
    """A verdict with its evidence; `formula` shows how an expected number comes about."""

    name: str
    verdict: Verdict
    summary: str
    evidence: tuple[Evidence, ...] = ()
    formula: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All checks of one run; `seed` makes the same prompts again."""

    checks: tuple[Check, ...]
    seed: int

    @property
    def passed(self) -> bool:
        """True when something passed, and nothing failed or stayed open."""
        verdicts = {check.verdict for check in self.checks}
        return Verdict.PASS in verdicts and verdicts <= {Verdict.PASS, Verdict.SKIP}

    def to_dict(self) -> dict[str, Any]:
        return {"passed": self.passed, **asdict(self)}


def judge(
    name: str, summary: str, evidence: Iterable[Evidence], formula: Iterable[str] = ()
) -> Check:
    """Pass when all evidence holds; otherwise fail, with what does not hold as the summary."""
    evidence = tuple(evidence)
    wrong = [seen for seen in evidence if not seen.holds]
    if not evidence:
        return Check(name, Verdict.INCONCLUSIVE, "nothing was looked at")
    if wrong:
        said = "; ".join(f"{e.where}: {e.observed}, expected {e.expected}" for e in wrong)
        return Check(name, Verdict.FAIL, said, evidence, tuple(formula))
    return Check(name, Verdict.PASS, summary, evidence, tuple(formula))


def equal(where: str, observed: float, expected: float) -> Evidence:
    return Evidence(where, observed, expected, observed == expected)


def skip(name: str, reason: str) -> Check:
    return Check(name, Verdict.SKIP, reason)


def inconclusive(name: str, reason: str, evidence: Iterable[Evidence] = ()) -> Check:
    return Check(name, Verdict.INCONCLUSIVE, reason, tuple(evidence))
