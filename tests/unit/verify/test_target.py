"""What a spec and a model's config make us expect."""

import json
from pathlib import Path
from typing import Any

import pytest

from rayspan.verify.target import read_target
from tests.unit.verify.recorded import Deployment, spec_of, split_target

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 512,
    "hidden_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "torch_dtype": "float32",
}


def write_model(folder: Path, **changes: Any) -> str:
    (folder / "config.json").write_text(json.dumps(CONFIG | changes))
    return str(folder)


@pytest.mark.parametrize(
    ("asked", "own", "served"),
    [
        ("float32", "bfloat16", "float32"),
        ("auto", "bfloat16", "bfloat16"),
        ("auto", "float16", "float16"),
        ("auto", "float32", "bfloat16"),
    ],
)
def test_dtype_served(asked: str, own: str, served: str, tmp_path: Path) -> None:
    spec = spec_of()
    spec = spec.model_copy(update={"model": spec.model.model_copy(update={"dtype": asked})})
    target = read_target(Deployment(spec, write_model(tmp_path, torch_dtype=own)))
    assert target.dtype == served


def test_an_unknown_model_is_told_not_raised(tmp_path: Path) -> None:
    folder = write_model(tmp_path, architectures=["OddForCausalLM"])
    target = read_target(Deployment(spec_of(), folder))
    assert target.shape is None
    assert "OddForCausalLM is not known" in target.unknown_shape


def test_a_model_that_is_no_folder_is_told(tmp_path: Path) -> None:
    target = read_target(Deployment(spec_of(), "some/hub-id"))
    assert "cannot read the model's shape" in target.unknown_shape


def test_blocks_are_the_engines_own_unless_chosen() -> None:
    own = read_target(Deployment(spec_of(prefill={}, decode={}), "/nowhere"))
    assert own.block_sizes() == (128,)


def test_unequal_blocks_are_read_by_the_smaller() -> None:
    spec = spec_of(prefill={"block_size": 32}, decode={"block_size": 64})
    target = read_target(Deployment(spec, "/nowhere"))
    assert target.block_sizes() == (32, 64)
    assert target.cache_settings().block_size == 32


def test_engine_arguments_that_change_the_cache_are_taken() -> None:
    engine = {
        "kv_cache_dtype": "fp8",
        "mamba_ssm_cache_dtype": "float32",
        "disable_hybrid_kv_cache_manager": True,
    }
    pool = {"block_size": 32, "engine": engine}
    settings = read_target(
        Deployment(spec_of(prefill=pool, decode=pool), "/nowhere")
    ).cache_settings()
    assert (settings.kv_cache_dtype, settings.state_dtype) == ("fp8", "float32")
    assert settings.one_group


def test_what_is_split() -> None:
    target = split_target("tcp")
    assert (target.split, target.transport, target.lease_s) == (True, "tcp", 60)


@pytest.mark.parametrize(("own", "found"), [(2, 2), ([7, 8], 7), (None, None), ([], None)])
def test_the_token_that_ends_an_answer(own: object, found: int | None, tmp_path: Path) -> None:
    folder = write_model(tmp_path, eos_token_id=own)
    assert read_target(Deployment(spec_of(), folder)).end_token == found
