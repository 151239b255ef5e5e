"""Prefill and decode on one GPU: `rayspan up`, `verify`, and how near bfloat16 comes to float32.

    python -m tests.gpu.share_gpu [--model FOLDER] [--transport ucx|tcp] [--prompts N]

The last part measures the largest lead, in nats, that float32 gave to its own token where the
healthy system first chose another: what the bound for near-ties must lie above.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rayspan.local.run_folder import VARIABLE, read_record
from rayspan.verify.probes import make_probes
from tests.gpu.answers import HEADER, compare, expect, summary, tiny_model, write_records
from tests.gpu.installed import as_installed, front_end

# The reference of `verify` runs a third engine beside these two.
SPEC = """
name: one-gpu
model: {{id: shared, source: {model}, max_model_len: 2048, dtype: bfloat16}}
serving:
  kind: prefill-decode
  prefill: &half
    gpu_share: 0.5
    block_size: 16
    kv_cache: 2GiB
    max_num_seqs: 32
    max_num_batched_tokens: 512
    engine: {{gpu_memory_utilization: 0.3}}
  decode: *half
  transport: {{kind: {transport}}}
target: {{kind: local, device: cuda}}
"""
LENGTHS = (1, 15, 16, 17, 40, 100, 333, 600)
_VOCABULARY = 512  # ids that any model here has
NEW_TOKENS = 32


def rayspan(*arguments: str) -> subprocess.CompletedProcess[str]:
    began = time.monotonic()
    command = [sys.executable, "-m", "rayspan.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    print(f"rayspan {' '.join(arguments[:1])}: exit {done.returncode}, {took:.0f} s", flush=True)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:])
    return done


def measure(model: Path, folder: Path, given: argparse.Namespace, facts: dict[str, Any]) -> int:
    probes = make_probes([LENGTHS[i % 8] for i in range(given.prompts)], _VOCABULARY, seed=3)
    expected = expect(model, probes, NEW_TOKENS)
    record = read_record(folder)
    assert record, "nothing is up"
    rows = compare(f"1P1D {given.transport}", record.api_base, "shared", probes, expected)
    print(HEADER)
    print(summary(rows))
    differ = sorted((row.lead for row in rows if row.lead is not None), reverse=True)
    print("largest leads at a first difference, nats:", [round(lead, 4) for lead in differ[:10]])
    print("raw records:", write_records("share_gpu", facts, rows))
    return 0 if all(row.holds for row in rows) else 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, help="left out: a tiny one with random weights")
    parser.add_argument("--transport", choices=["ucx", "tcp"], default="ucx")
    parser.add_argument("--prompts", type=int, default=64)
    given = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "VLLM_USE_FLASHINFER_SAMPLER": "0"}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        os.environ[VARIABLE] = str(folder)
        as_installed(Path(scratch) / "site")
        front_end()
        model = given.model or tiny_model(Path(scratch) / "model")
        spec = Path(scratch) / "spec.yaml"
        spec.write_text(SPEC.format(model=model, transport=given.transport))
        try:
            began = time.monotonic()
            up = rayspan("up", "--detach", str(spec))
            if up.returncode:
                return up.returncode
            facts: dict[str, Any] = {"up_s": round(time.monotonic() - began, 1)}
            verified = rayspan("verify", "--json")
            print(verified.stdout[-6000:])
            facts["verify"] = json.loads(verified.stdout or "{}")
            return measure(model, folder, given, facts) or verified.returncode
        finally:
            rayspan("down")


if __name__ == "__main__":
    sys.exit(main())
