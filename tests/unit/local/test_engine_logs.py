from pathlib import Path

import pytest

from rayspan.local.engine_logs import EngineProgress, find_death, read_progress

NAME = "INFO 2026-12-01 05:22:46,526 default_Prefill:smollm2-135m kngsenzj -- Running tasks\n"
DEATH = """(EngineCore pid=7) INFO 12-01 05:22:44 [core.py:116] Initializing a V1 LLM engine
(EngineCore pid=7) ERROR 12-01 05:22:45 [core.py:1] EngineCore failed to start.
(EngineCore pid=7) ERROR 12-01 05:22:45 [core.py:1] Traceback (most recent call last):
(EngineCore pid=7) ERROR 12-01 05:22:45 [core.py:1]   File "core.py", line 9, in run
(EngineCore pid=7) ERROR 12-01 05:22:45 [core.py:1] ValueError: No memory for the cache blocks.
Traceback (most recent call last):
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "worker-a.out").write_text("")
    (tmp_path / "worker-a.err").write_text(NAME)
    return tmp_path


def test_the_furthest_stage_counts(logs: Path) -> None:
    assert read_progress([logs]) == [EngineProgress("prefill", "kngsenzj", "starting")]
    (logs / "worker-a.out").write_text(
        "(EngineCore pid=7) INFO [core.py:116] Initializing a V1 LLM engine (v0)\n"
        "(Worker pid=8) INFO [cpu_model_runner.py:128] Starting to load model /m...\n"
    )
    assert read_progress([logs])[0].stage == "loading weights"
    (logs / "worker-b.out").write_text("nothing of a replica\n")
    assert len(read_progress([logs])) == 1


def test_no_logs_no_replicas(tmp_path: Path) -> None:
    assert read_progress([tmp_path]) == []
    assert find_death([tmp_path]) is None


def test_the_cause_is_the_engines_own_first_error(logs: Path) -> None:
    assert find_death([logs]) is None
    (logs / "worker-a.out").write_text(DEATH)
    assert find_death([logs]) == "ValueError: No memory for the cache blocks."


def test_a_death_without_an_error_is_still_a_death(logs: Path) -> None:
    (logs / "worker-a.out").write_text("(EngineCore pid=7) ERROR [x] EngineCore failed to start.\n")
    assert find_death([logs]) == "no error text"
