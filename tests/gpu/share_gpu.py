"""Prefill and decode on one GPU: `rayspan up`, `verify`, and how near bfloat16 comes to float32.

    python -m tests.gpu.share_gpu [--model FOLDER] [--transport ucx|tcp] [--prompts N]
                                  [--plant lose_one_block] [--device cpu]

The last part measures the largest lead, in nats, that float32 gave to its own token where the
healthy system first chose another: what the bound for near-ties must lie above. With --plant the
deployment has that fault of tests/broken, and must give answers beyond the bound. --device cpu
tries the script itself where there is no GPU.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rayspan.local.run_folder import VARIABLE, read_record
from rayspan.verify.probes import make_probes
from tests.broken import as_plugin
from tests.gpu.answers import (
    HEADER,
    Compared,
    compare,
    expect,
    summary,
    tiny_model,
    write_records,
)
from tests.gpu.installed import as_installed, front_end

# The reference of `verify` runs a third engine beside these two.
SPEC = """
name: one-gpu
model: {{id: shared, source: {model}, max_model_len: 2048, dtype: bfloat16}}
serving:
  kind: prefill-decode
  prefill: {{{pool}}}
  decode: {{{pool}}}
  transport: {{kind: {transport}}}
target: {{kind: local, device: {device}}}
"""
ALIKE = "block_size: 16, max_num_seqs: 32, max_num_batched_tokens: 512"
POOLS = {
    "cpu": f"{ALIKE}, kv_cache: 256MiB",
    "cuda": f"{ALIKE}, kv_cache: 2GiB, gpu_share: 0.5, engine: {{gpu_memory_utilization: 0.3}}",
}
LENGTHS = (1, 15, 16, 17, 40, 100, 333, 600)
TOUCHED = 40  # prompts shorter than three blocks have none to lose in the middle
_VOCABULARY = 512  # ids that any model here has
NEW_TOKENS = 32


def spec_text(model: Path, transport: str, device: str) -> str:
    return SPEC.format(model=model, pool=POOLS[device], transport=transport, device=device)


def rayspan(*arguments: str) -> subprocess.CompletedProcess[str]:
    began = time.monotonic()
    command = [sys.executable, "-m", "rayspan.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    print(f"rayspan {' '.join(arguments[:1])}: exit {done.returncode}, {took:.0f} s", flush=True)
    return done


def measure(model: Path, folder: Path, given: argparse.Namespace) -> list[Compared]:
    probes = make_probes([LENGTHS[i % 8] for i in range(given.prompts)], _VOCABULARY, seed=3)
    expected = expect(model, probes, NEW_TOKENS)
    record = read_record(folder)
    assert record, "nothing is up"
    rows = compare(given.plant or "healthy", record.api_base, "shared", probes, expected)
    print(HEADER)
    print(summary(rows))
    differ = sorted((row.lead for row in rows if row.lead is not None), reverse=True)
    print("largest leads at a first difference, nats:", [round(lead, 4) for lead in differ[:10]])
    return rows


def judge_planted(rows: Sequence[Compared]) -> bool:
    """Whether the fault was seen, and nowhere but where it lies."""
    touched = [row for row in rows if row.prompt_tokens >= TOUCHED]
    caught = [row for row in touched if not row.holds]
    within = sum(row.holds and row.at is not None for row in touched)
    print(
        f"of {len(touched)} answers that the fault touches {len(caught)} are wrong beyond the "
        f"bound, {within} differ within it, {len(touched) - len(caught) - within} are equal"
    )
    return bool(caught) and all(row.holds for row in rows if row not in touched)


def verify() -> list[dict[str, Any]]:
    """The checks of `rayspan verify`. Some find nothing to judge in so small a model."""
    done = rayspan("verify", "--json")
    if not done.stdout.startswith("{"):
        print(done.stdout[-4000:], done.stderr[-4000:])
        return []
    checks: list[dict[str, Any]] = json.loads(done.stdout)["checks"]
    for check in checks:
        print(f"  {check['name']:<10} {check['verdict']:<13} {check['summary'][:150]}")
    return checks


def run(model: Path, folder: Path, given: argparse.Namespace) -> int:
    spec = folder.with_name("spec.yaml")
    spec.write_text(spec_text(model, given.transport, given.device))
    began = time.monotonic()
    up = rayspan("up", "--detach", str(spec))
    if up.returncode:
        print(up.stdout[-4000:], up.stderr[-4000:])
        return up.returncode
    facts: dict[str, Any] = {**vars(given), "model": str(model)}
    facts["up_s"] = round(time.monotonic() - began, 1)
    failed = False
    if not given.plant:
        facts["verify"] = checks = verify()
        failed = not checks or any(check["verdict"] == "fail" for check in checks)
    rows = measure(model, folder, given)
    name = f"share_gpu-{given.transport}-{given.plant or 'healthy'}"
    print("raw records:", write_records(name, facts, rows))
    right = judge_planted(rows) if given.plant else all(row.holds for row in rows)
    return 0 if right and not failed else 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, help="left out: a tiny one with random weights")
    parser.add_argument("--transport", choices=["ucx", "tcp"], default="ucx")
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--plant", default="", help="a module of tests/broken")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    given = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "VLLM_USE_FLASHINFER_SAMPLER": "0"}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        os.environ[VARIABLE] = str(folder)
        as_installed(Path(scratch) / "site")
        if given.plant:
            os.environ |= as_plugin(given.plant, Path(scratch) / "site")
        front_end()
        try:
            return run(given.model or tiny_model(Path(scratch) / "model"), folder, given)
        finally:
            rayspan("down")


if __name__ == "__main__":
    sys.exit(main())
