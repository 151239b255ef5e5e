"""The runs on GPUs as far as they go without one: their specs are valid, wrong answers are seen."""

from dataclasses import replace
from pathlib import Path

import pytest

from rayspan.spec import parse_spec
from tests.gpu import share_gpu, two_nodes
from tests.gpu.answers import Compared, summary
from tests.gpu.installed import as_installed

EQUAL = Compared("s", 16, 8, at=None, lead=None)


@pytest.mark.parametrize("cut", two_nodes.CUTS.values())
def test_an_engine_on_two_nodes(cut: str) -> None:
    pool = parse_spec(two_nodes.SPEC.format(model="/m", cut=cut), "s").pools()["colocated"]
    assert (pool.devices, pool.placement) == (2, "strict-spread")


@pytest.mark.parametrize("transport", ["ucx", "tcp"])
def test_two_engines_on_one_gpu(transport: str) -> None:
    spec = parse_spec(share_gpu.spec_text(Path("/m"), transport, "cuda"), "s")
    assert sum(pool.gpu_share for pool in spec.pools().values()) == 1
    assert parse_spec(share_gpu.spec_text(Path("/m"), transport, "cpu"), "s")


def test_wrong_answers_are_told_from_near_ties() -> None:
    near = replace(EQUAL, at=3, lead=0.1)
    assert summary([EQUAL, near]).endswith("0.1000  ok")
    assert summary([EQUAL, replace(near, lead=0.3)]).endswith("0.3000  WRONG")
    assert summary([EQUAL, replace(EQUAL, error="status 500")]).endswith("1             -  WRONG")


def test_a_planted_fault_must_be_seen_where_it_lies_alone() -> None:
    wrong = replace(EQUAL, prompt_tokens=share_gpu.TOUCHED, at=1, lead=5.0)
    assert share_gpu.judge_planted([EQUAL, wrong])
    assert not share_gpu.judge_planted([EQUAL, replace(wrong, lead=0.1)])
    assert not share_gpu.judge_planted([replace(wrong, prompt_tokens=16), wrong])


def test_vllm_finds_the_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    as_installed(tmp_path)
    (points,) = tmp_path.glob("rayspan-*.dist-info/entry_points.txt")
    assert "rayspan_kv_bytes = rayspan.serving.kv_bytes:register" in points.read_text()
