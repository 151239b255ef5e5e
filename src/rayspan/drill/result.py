"""The outcome of a drill, and its verdict. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rayspan.drill.told import Kind, Told
from rayspan.verify import Check, Evidence, Verdict

# A 200 with wrong text is the worst outcome, and what a client cannot tell from an answer is next.
_NEVER = (Kind.WRONG, Kind.EMPTY, Kind.HUNG)


@dataclass(frozen=True, slots=True)
class Result:
    """`clients` by what they got, `errors` by their words; `recover_s` from the fault until all
    replicas run and answer; `kv_held`: share of the KV cache held at rest, by replica; `restarted`:
    replicas that were replaced; `checks`: those of the end."""

    drill: str
    verdict: Verdict
    summary: str
    clients: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    tokens_wrong: int = 0
    recover_s: float | None = None
    kv_held: Mapping[str, float] = field(default_factory=dict)
    restarted: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is judged. `effect`: signs that the fault was there at all; `lost`: replicas replaced
    that the fault does not excuse."""

    told: Sequence[Told]
    effect: Sequence[Evidence]
    recover_s: float | None
    kv_held: Mapping[str, float]
    restarted: tuple[str, ...]
    lost: tuple[str, ...]
    checks: tuple[Check, ...]
    problem: str = ""


def judge_drill(name: str, seen: Seen) -> Result:
    """Fails on what no fault excuses; open where the fault did not take or could not be seen."""
    kinds = Counter(one.kind for one in seen.told)
    wrong = [f"{kinds[kind]} {kind.value}" for kind in _NEVER if kinds[kind]]
    wrong += [f"{replica} was replaced" for replica in seen.lost]
    if seen.recover_s is None:
        wrong.append("it did not recover")
    wrong += [f"{c.name}: {c.summary}" for c in seen.checks if c.verdict is Verdict.FAIL]
    unclear = [
        f"{e.where}: {e.observed}, expected {e.expected}" for e in seen.effect if not e.holds
    ]
    unclear += [f"{c.name}: {c.summary}" for c in seen.checks if c.verdict is Verdict.INCONCLUSIVE]
    unclear += [seen.problem] if seen.problem else []
    if wrong:
        verdict, summary = Verdict.FAIL, "; ".join(wrong)
    elif unclear:
        verdict, summary = Verdict.INCONCLUSIVE, "; ".join(unclear)
    else:
        verdict, summary = Verdict.PASS, _told(kinds)
    return Result(
        drill=name,
        verdict=verdict,
        summary=summary,
        clients={kind.value: number for kind, number in sorted(kinds.items())},
        errors=dict(Counter(t.words for t in seen.told if t.words and t.kind is not Kind.RIGHT)),
        tokens_wrong=sum(one.tokens_wrong for one in seen.told),
        recover_s=seen.recover_s,
        kv_held=seen.kv_held,
        restarted=seen.restarted,
        checks=seen.checks,
    )


def _told(kinds: Mapping[Kind, int]) -> str:
    return ", ".join(f"{number} {kind.value}" for kind, number in sorted(kinds.items()))


def skipped(name: str, reason: str) -> Result:
    return Result(name, Verdict.SKIP, reason)


def not_run(name: str, reason: str) -> Result:
    return Result(name, Verdict.INCONCLUSIVE, reason)
