"""Answers of a deployment beside those of transformers in float32."""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rayspan.adapters.json_job import run_json_job
from rayspan.verify.parity import NEAR_TIE_NATS
from rayspan.verify.probes import Probe, ask

_AT_ONCE = 8
_REFERENCE_S = 500.0


@dataclass(frozen=True, slots=True)
class Compared:
    """One answer. `at`: the first token that differs from the reference, None where none does;
    `lead`: by how many nats the reference preferred its own token there."""

    system: str
    prompt_tokens: int
    new_tokens: int
    at: int | None
    lead: float | None
    error: str = ""

    @property
    def holds(self) -> bool:
        """Equal, or different where bfloat16 may choose either."""
        near = self.lead is None or self.lead < NEAR_TIE_NATS["bfloat16"]
        return not self.error and near


@dataclass(frozen=True, slots=True)
class Expected:
    """The reference's continuation of one prompt."""

    token_ids: list[int]
    gaps: list[float]


def tiny_model(folder: Path) -> Path:
    """A model with random weights whose choices are far apart."""
    from tests.tiny_models import make_tiny_model  # noqa: PLC0415  (heavy)

    return make_tiny_model("full", folder)


def expect(model: Path, probes: Sequence[Probe], new_tokens: int) -> list[Expected]:
    """What transformers answers in float32 on the CPU."""
    prompts = [list(probe.prompt) for probe in probes]
    job = {"model": str(model), "prompts": prompts, "new_tokens": new_tokens}
    env = {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    results = run_json_job("rayspan.verify.reference", job, _REFERENCE_S, env)
    return [Expected(r["token_ids"], r["gaps"]) for r in results]


def compare(
    system: str, api_base: str, name: str, probes: Sequence[Probe], expected: Sequence[Expected]
) -> list[Compared]:
    """Asks for all prompts, several at once, so that batches are mixed as in real use."""

    def one(pair: tuple[Probe, Expected]) -> Compared:
        probe, known = pair
        size, wanted = len(probe.prompt), len(known.token_ids)
        answer = ask(api_base, name, probe, new_tokens=wanted)
        if answer.error:
            return Compared(system, size, wanted, None, None, answer.error)
        pairs = zip(answer.token_ids, known.token_ids, strict=True)
        at = next((i for i, (given, own) in enumerate(pairs) if given != own), None)
        return Compared(system, size, wanted, at, None if at is None else known.gaps[at])

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(one, zip(probes, expected, strict=True)))


def summary(rows: Sequence[Compared]) -> str:
    """One line of a table: system, answers, equal ones, errors, largest lead where one differs."""
    leads = [row.lead for row in rows if row.lead is not None]
    equal = sum(row.at is None and not row.error for row in rows)
    errors = sum(bool(row.error) for row in rows)
    largest = f"{max(leads):.4f}" if leads else "-"
    verdict = "ok" if rows and all(row.holds for row in rows) else "WRONG"
    return f"{rows[0].system:<16} {len(rows):>7} {equal:>7} {errors:>7} {largest:>13}  {verdict}"


HEADER = f"{'system':<16} {'answers':>7} {'equal':>7} {'errors':>7} {'largest lead':>13}"


def write_records(name: str, facts: dict[str, Any], rows: Sequence[Compared]) -> Path:
    """One line of JSON for what was run, and one for each answer."""
    path = Path(os.environ.get("OUT", ".")) / f"{name}.jsonl"
    lines = [facts, *map(asdict, rows)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
