"""What a model keeps per token or per request, read from its `config.json`.

Only architectures whose cache was compared with the engine's source are read. For any other the
answer is an error: a guessed shape would turn every number derived from it into a lie.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from rayspan.errors import InputError

DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1}


@dataclass(frozen=True, slots=True)
class Attention:
    """Keys and values of one layer. `window` and `chunk` are tokens; at most one is set."""

    kv_heads: int
    head_dim: int
    window: int | None = None
    chunk: int | None = None


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """MLA: one latent vector and one rotary key per token, the same on every tensor rank."""

    latent_dim: int
    rope_dim: int


@dataclass(frozen=True, slots=True)
class Recurrent:
    """Mamba or gated delta net: one convolution state and one recurrent state per request.

    `conv` is (channels, rows) and `state` starts with the number of heads: both first numbers are
    split over tensor ranks. `state_dtype` None means the dtype of the convolution state.
    """

    kind: Literal["gdn", "mamba2"]
    conv: tuple[int, int]
    state: tuple[int, ...]
    state_dtype: str | None = None

    def conv_elements(self) -> int:
        return prod(self.conv)

    def state_elements(self) -> int:
        return prod(self.state)


Cache = Attention | LatentAttention | Recurrent


@dataclass(frozen=True, slots=True)
class ModelShape:
    """`caches` holds one entry per thing that keeps state; a layer may have none or two."""

    architecture: str
    dtype: str
    vocabulary: int
    context: int | None
    decoder_layers: int
    caches: tuple[Cache, ...]

    def is_hybrid(self) -> bool:
        """Whether some state is kept per request and not per token."""
        return any(isinstance(cache, Recurrent) for cache in self.caches)


def read_shape(config: Mapping[str, Any]) -> ModelShape:
    """Reads a Hugging Face `config.json`; raises InputError for what is not known exactly."""
    architecture = _architecture(config)
    text = {**DEFAULTS.get(architecture, {}), **config, **(config.get("text_config") or {})}
    try:
        caches = tuple(READERS[architecture](text))
        return ModelShape(
            architecture=architecture,
            dtype=_dtype(config, text),
            vocabulary=text["vocab_size"],
            context=text.get("max_position_embeddings"),
            decoder_layers=text["num_hidden_layers"],
            caches=caches,
        )
    except KeyError as error:
        raise InputError(f"config.json of {architecture} has no {error.args[0]!r}") from error


def _architecture(config: Mapping[str, Any]) -> str:
    named = config.get("architectures") or []
    if len(named) != 1 or named[0] not in READERS:
        raise InputError(
            f"the shape of architecture {', '.join(map(str, named)) or '(none named)'} is not"
            f" known; known: {', '.join(sorted(READERS))}"
        )
    return str(named[0])


def _dtype(config: Mapping[str, Any], text: Mapping[str, Any]) -> str:
    named = (text.get("dtype") or text.get("torch_dtype") or config.get("torch_dtype")) or "float32"
    if named not in DTYPE_BYTES:
        raise InputError(f"config.json names dtype {named!r}; known: {', '.join(DTYPE_BYTES)}")
    return str(named)


def _heads(text: Mapping[str, Any]) -> tuple[int, int]:
    heads = text["num_attention_heads"]
    kv_heads = text.get("num_key_value_heads") or heads
    return kv_heads, text.get("head_dim") or text["hidden_size"] // heads


def _full(text: Mapping[str, Any]) -> Iterable[Cache]:
    return [Attention(*_heads(text))] * text["num_hidden_layers"]


def _by_type(text: Mapping[str, Any], default: Callable[[int], str]) -> Iterable[Cache]:
    """One entry per layer from `layer_types`, or from `default` (layer number to type)."""
    kinds = text.get("layer_types") or [default(i) for i in range(text["num_hidden_layers"])]
    if len(kinds) != text["num_hidden_layers"]:
        raise InputError(
            f"config.json has {len(kinds)} layer_types for {text['num_hidden_layers']} layers"
        )
    heads = _heads(text)
    known: dict[str, Callable[[], Cache]] = {
        "full_attention": lambda: Attention(*heads),
        "sliding_attention": lambda: Attention(*heads, window=text["sliding_window"]),
        "chunked_attention": lambda: Attention(*heads, chunk=text["attention_chunk_size"]),
        "linear_attention": lambda: _delta_net(text),
    }
    for kind in kinds:
        if kind not in known:
            raise InputError(f"config.json has layer type {kind!r}; known: {', '.join(known)}")
    return [known[kind]() for kind in kinds]


def _llama(text: Mapping[str, Any]) -> Iterable[Cache]:
    return _by_type(text, lambda _: "full_attention")


def _mistral(text: Mapping[str, Any]) -> Iterable[Cache]:
    """All layers slide, or none. A missing key would be filled with a class default: an error."""
    everywhere = "sliding_attention" if text["sliding_window"] else "full_attention"
    return _by_type({**text, "layer_types": None}, lambda _: everywhere)


def _qwen(text: Mapping[str, Any]) -> Iterable[Cache]:
    if not text.get("use_sliding_window"):
        return _full(text)
    first = text["max_window_layers"]
    caches = list(_by_type(text, lambda i: "sliding_attention" if i >= first else "full_attention"))
    if len(set(caches)) > 1:
        raise InputError("the engine refuses Qwen models in which only some layers slide")
    return caches


def _alternating(text: Mapping[str, Any]) -> Iterable[Cache]:
    return _by_type(text, lambda i: "full_attention" if i % 2 else "sliding_attention")


def _gemma3(text: Mapping[str, Any]) -> Iterable[Cache]:
    every = text.get("sliding_window_pattern") or 6
    return _by_type(text, lambda i: "sliding_attention" if (i + 1) % every else "full_attention")


def _llama4(text: Mapping[str, Any]) -> Iterable[Cache]:
    rope = text["no_rope_layers"]
    return _by_type(text, lambda i: "chunked_attention" if rope[i] else "full_attention")


def _latent(text: Mapping[str, Any]) -> Iterable[Cache]:
    cache = LatentAttention(text["kv_lora_rank"], text["qk_rope_head_dim"])
    return [cache] * text["num_hidden_layers"]


def _delta_hybrid(text: Mapping[str, Any]) -> Iterable[Cache]:
    every = text.get("full_attention_interval") or 4
    return _by_type(text, lambda i: "linear_attention" if (i + 1) % every else "full_attention")


def _delta_net(text: Mapping[str, Any]) -> Recurrent:
    key_heads, value_heads = text["linear_num_key_heads"], text["linear_num_value_heads"]
    key_dim, value_dim = text["linear_key_head_dim"], text["linear_value_head_dim"]
    channels = 2 * key_heads * key_dim + value_heads * value_dim
    return Recurrent(
        kind="gdn",
        conv=(channels, text["linear_conv_kernel_dim"] - 1),
        state=(value_heads, value_dim, key_dim),
        state_dtype=text.get("mamba_ssm_dtype"),
    )


def _falcon_h1(text: Mapping[str, Any]) -> Iterable[Cache]:
    """Every layer has attention and a Mamba2 mixer side by side."""
    inner = text.get("mamba_d_ssm") or int(text["mamba_expand"] * text["hidden_size"])
    channels = inner + 2 * text["mamba_n_groups"] * text["mamba_d_state"]
    mixer = Recurrent(
        kind="mamba2",
        conv=(channels, text["mamba_d_conv"] - 1),
        state=(text["mamba_n_heads"], text["mamba_d_head"], text["mamba_d_state"]),
    )
    return [*_full(text), *[mixer] * text["num_hidden_layers"]]


READERS: dict[str, Callable[[Mapping[str, Any]], Iterable[Cache]]] = {
    "DeepseekV2ForCausalLM": _latent,
    "DeepseekV3ForCausalLM": _latent,
    "FalconH1ForCausalLM": _falcon_h1,
    "Gemma2ForCausalLM": _alternating,
    "Gemma3ForCausalLM": _gemma3,
    "Gemma3ForConditionalGeneration": _gemma3,
    "GptOssForCausalLM": _alternating,
    "Llama4ForCausalLM": _llama4,
    "Llama4ForConditionalGeneration": _llama4,
    "LlamaForCausalLM": _llama,
    "MistralForCausalLM": _mistral,
    "MixtralForCausalLM": _mistral,
    "Qwen2ForCausalLM": _qwen,
    "Qwen2MoeForCausalLM": _qwen,
    "Qwen3ForCausalLM": _qwen,
    "Qwen3MoeForCausalLM": _qwen,
    "Qwen3NextForCausalLM": _delta_hybrid,
    "Qwen3_5ForConditionalGeneration": _delta_hybrid,
    "Qwen3_5MoeForConditionalGeneration": _delta_hybrid,
}

# A published config may leave out what equals the default of its class in transformers.
_GEMMA3 = {
    "vocab_size": 262208,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 131072,
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "Gemma3ForCausalLM": _GEMMA3,
    "Gemma3ForConditionalGeneration": _GEMMA3,
}
