"""Bytes that NIXL moves between two real engines equal the formula, for each kind of cache."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rayspan.facts.shape import read_shape
from rayspan.plan.kv_bytes import CacheSettings, Request, expect_kv_bytes
from tests.broken import as_plugin
from tests.tiny_models import KINDS, VOCABULARY, make_tiny_model

PAIR = Path(__file__).parents[1] / "engine_pair.py"
LENGTHS = (1, 2, 31, 32, 33, 40, 41, 56, 57, 100, 300)
SETTINGS: dict[str, dict[str, Any]] = {
    "full": {"block_size": 32, "dtype": "float32"},
    "window": {"block_size": 16, "dtype": "float32"},  # vLLM 0.26 on CPU refuses others here
    "mixed": {"block_size": 32, "dtype": "float32"},
    "hybrid": {"block_size": 32, "dtype": "bfloat16", "mamba_ssm_cache_dtype": "float32"},
}
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "UCX_NET_DEVICES": "lo",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_SSM_CONV_STATE_LAYOUT": "DS",
    "RAYSPAN_NIXL_PROGRESS_DELAY_US": "1000",
}


@pytest.mark.parametrize("kind", KINDS)
def test_measured_equals_expected(kind: str, tmp_path: Path) -> None:
    folder = make_tiny_model(kind, tmp_path / kind)
    settings = SETTINGS[kind]
    env = {**os.environ, **as_plugin("without_amx", tmp_path)} if kind == "hybrid" else os.environ
    measured = [row["bytes"] for row in run_pair(folder, settings, env=env)]
    shape = read_shape(json.loads((folder / "config.json").read_text()))
    cache = CacheSettings(
        settings["block_size"],
        settings["dtype"],
        state_dtype=settings.get("mamba_ssm_cache_dtype"),
    )
    expected = expect_kv_bytes(shape, cache, [Request(n) for n in LENGTHS])
    assert measured == list(expected.per_request), expected.explain


def run_pair(
    folder: Path,
    settings: dict[str, Any],
    backend: str = "UCX",
    env: Mapping[str, str] = os.environ,
) -> list[dict[str, Any]]:
    """What `engine_pair` printed for a prompt of each length."""
    chance = random.Random(5)
    prompts = [[chance.randrange(16, VOCABULARY) for _ in range(n)] for n in LENGTHS]
    job = {"model": str(folder), "settings": settings, "prompts": prompts, "backend": backend}
    done = subprocess.run(
        [sys.executable, str(PAIR)],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=300,
        env={**env, **ENVIRONMENT},
        check=False,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"tokens"')]
    assert len(rows) == len(LENGTHS), done.stderr[-3000:]
    assert f"Backend {backend} was instantiated" in done.stdout + done.stderr
    return rows
