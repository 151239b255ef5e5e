"""Shapes of published models, and of small ones written here by hand."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rayspan.errors import InputError
from rayspan.facts.shape import Attention, LatentAttention, Recurrent, read_shape

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "models"

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 512,
    "hidden_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 3,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
}
MIXED = LLAMA | {
    "architectures": ["Gemma3ForCausalLM"],
    "head_dim": 32,
    "num_hidden_layers": 7,
    "sliding_window": 40,
}
DELTA = LLAMA | {
    "architectures": ["Qwen3NextForCausalLM"],
    "num_hidden_layers": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "linear_conv_kernel_dim": 4,
}
FALCON = LLAMA | {
    "architectures": ["FalconH1ForCausalLM"],
    "mamba_d_ssm": 256,
    "mamba_n_groups": 1,
    "mamba_d_state": 64,
    "mamba_d_conv": 4,
    "mamba_n_heads": 8,
    "mamba_d_head": 32,
}


def test_full_attention_takes_head_dim_from_the_hidden_size() -> None:
    shape = read_shape(LLAMA)
    assert shape.caches == (Attention(kv_heads=2, head_dim=32),) * 3
    assert (shape.dtype, shape.vocabulary, shape.context) == ("bfloat16", 512, 2048)


def test_every_sixth_gemma3_layer_is_full() -> None:
    windows = [c.window for c in read_shape(MIXED).caches if isinstance(c, Attention)]
    assert windows == [40, 40, 40, 40, 40, None, 40]


def test_layer_types_win_over_the_default_pattern() -> None:
    types = ["full_attention", "sliding_attention"]
    shape = read_shape(MIXED | {"num_hidden_layers": 2, "layer_types": types})
    assert [c.window for c in shape.caches if isinstance(c, Attention)] == [None, 40]


def test_qwen_slides_only_when_told() -> None:
    qwen = LLAMA | {"architectures": ["Qwen2ForCausalLM"], "sliding_window": 64}
    qwen["max_window_layers"] = 0
    off, on = (read_shape(qwen | {"use_sliding_window": told}) for told in (False, True))
    assert {c.window for c in off.caches if isinstance(c, Attention)} == {None}
    assert {c.window for c in on.caches if isinstance(c, Attention)} == {64}


def test_gated_delta_net_states() -> None:
    shape = read_shape(DELTA | {"mamba_ssm_dtype": "float32"})
    assert shape.is_hybrid()
    state = Recurrent(
        "gdn", conv=(2 * 2 * 32 + 4 * 32, 3), state=(4, 32, 32), state_dtype="float32"
    )
    assert shape.caches == (state, state, state, Attention(2, 32))


def test_a_falcon_layer_has_attention_and_a_mixer() -> None:
    caches = read_shape(FALCON).caches
    assert Counter(caches) == {
        Attention(2, 32): 3,
        Recurrent("mamba2", conv=(256 + 2 * 64, 3), state=(8, 32, 64)): 3,
    }


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"architectures": ["MadeUpForCausalLM"]}, "MadeUpForCausalLM is not known"),
        ({"architectures": []}, "none named"),
        ({"layer_types": ["full_attention"] * 2}, "2 layer_types for 3 layers"),
        ({"layer_types": ["secret_attention"] * 3}, "'secret_attention'"),
        ({"torch_dtype": "int3"}, "'int3'"),
        ({"architectures": ["MistralForCausalLM"]}, "no 'sliding_window'"),
        (
            {
                "architectures": ["Qwen3ForCausalLM"],
                "use_sliding_window": True,
                "sliding_window": 8,
                "max_window_layers": 1,
            },
            "only some layers slide",
        ),
    ],
)
def test_what_is_not_known_is_said(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_shape(LLAMA | change)


# kind of cache -> how many, from the model cards and the engine's source
CENSUS = {
    "SmolLM2-135M-Instruct": {Attention(3, 64): 30},
    "Llama-3.1-8B-Instruct": {Attention(8, 128): 32},
    "Ministral-8B-Instruct-2410": {Attention(8, 128, window=32768): 36},
    "Qwen2.5-7B-Instruct": {Attention(4, 128): 28},
    "Qwen3-30B-A3B": {Attention(4, 128): 48},
    "gpt-oss-20b": {Attention(8, 64, window=128): 12, Attention(8, 64): 12},
    "gemma-3-27b-it": {Attention(16, 128, window=1024): 52, Attention(16, 128): 10},
    "DeepSeek-V3": {LatentAttention(512, 64): 61},
    "Qwen3.5-9B": {
        Recurrent("gdn", conv=(8192, 3), state=(32, 128, 128), state_dtype="float32"): 24,
        Attention(4, 256): 8,
    },
}


@pytest.mark.parametrize("name", CENSUS)
def test_published_model(name: str) -> None:
    assert Counter(read_shape(_published(name)).caches) == CENSUS[name]


def test_every_published_config_can_be_read() -> None:
    if not PUBLISHED.is_dir():
        pytest.skip(f"{PUBLISHED} is absent: no published configs to read")
    names = sorted(path.parent.name for path in PUBLISHED.glob("*/config.json"))
    assert names
    for name in names:
        shape = read_shape(_published(name))
        assert len(shape.caches) >= shape.decoder_layers > 0, name


def _published(name: str) -> dict[str, Any]:
    path = PUBLISHED / name / "config.json"
    if not path.exists():
        pytest.skip(f"{path} is absent: no published config to read")
    config: dict[str, Any] = json.loads(path.read_text())
    return config
