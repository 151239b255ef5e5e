"""The guard on real engines: what it must end, what it must let through, and that it is needed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.broken import as_plugin
from tests.integration.test_kv_bytes import ENVIRONMENT, SETTINGS
from tests.tiny_models import make_tiny_model

PAIR = Path(__file__).parents[1] / "guarded_pair.py"
ROOT = Path(__file__).parents[2]
Rows = dict[str, dict[str, Any]]

MUST_FAIL = ("refused", "late", "no blocks", "blocks beyond the end", "no host")
MUST_BE_RIGHT = (
    "sound",
    "the same prompt after",
    "the same prompt after late",
    "asked",
    "at last",
)


def play(kind: str, folder: Path, *, guarded: bool) -> Rows:
    """The scenes that were told; an engine that died tells no more."""
    plugin = as_plugin("refuse_reads", folder)
    if kind == "hybrid":
        as_plugin("without_amx", folder)
    job = {
        "model": str(make_tiny_model(kind, folder / kind)),
        "settings": SETTINGS[kind],
        "guarded": guarded,
        "fault": str(folder / "fault"),
    }
    paths = [plugin["PYTHONPATH"], str(ROOT)]
    done = subprocess.run(
        [sys.executable, str(PAIR)],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=400,
        env={
            **os.environ,
            **ENVIRONMENT,
            "PYTHONPATH": os.pathsep.join(paths),
            "RAYSPAN_TEST_FAULT": str(folder / "fault"),
        },
        check=False,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"scene"')]
    assert rows, done.stderr[-3000:]
    return {row["scene"]: row for row in rows}


def is_right(kind: str, row: dict[str, Any]) -> bool:
    """In bfloat16, rounding may turn any token of a random model but a first one chosen for it."""
    compared = 1 if SETTINGS[kind]["dtype"] == "bfloat16" else None
    return bool(row["alone"]) and row["ids"][:compared] == row["alone"][:compared]


@pytest.mark.parametrize("kind", ["full", "mixed", "hybrid"])
def test_no_token_leaves_that_was_not_read_whole_and_in_time(kind: str, tmp_path: Path) -> None:
    rows = play(kind, tmp_path, guarded=True)
    for scene in MUST_FAIL:
        assert (rows[scene]["ended"], rows[scene]["ids"]) == ("error", []), rows[scene]
    for scene in MUST_BE_RIGHT:
        assert is_right(kind, rows[scene]), rows[scene]
    assert {tuple(row["pids"]) for row in rows.values()} == {tuple(rows["sound"]["pids"])}
    assert len(rows["sound"]["pids"]) == 2


def test_without_the_guard_a_hybrid_model_answers_with_wrong_text(tmp_path: Path) -> None:
    """What the guard is for: were this right, the test above would prove nothing."""
    rows = play("hybrid", tmp_path, guarded=False)
    assert is_right("hybrid", rows["sound"])
    for scene in ("refused", "late"):
        assert rows[scene]["ended"] == "length"
        assert not is_right("hybrid", rows[scene])
