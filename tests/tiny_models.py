"""Tiny random models, one for each kind of cache, small enough to serve in seconds on a CPU.

Heads are 32 wide, the narrowest that the CPU attention kernel takes. The layer counts are chosen so
that cache groups come out uneven where they can: reads of a short group are part of the formula.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer  # type: ignore[import-untyped]
from tokenizers.models import WordLevel  # type: ignore[import-untyped]
from tokenizers.pre_tokenizers import Whitespace  # type: ignore[import-untyped]
from transformers import (
    AutoModelForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    MistralConfig,
    PreTrainedTokenizerFast,
    Qwen3NextConfig,
)

VOCABULARY = 512


def _common(**more: Any) -> dict[str, Any]:
    return {
        "vocab_size": VOCABULARY,
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "max_position_embeddings": 4096,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "tie_word_embeddings": False,
        **more,
    }


def _full() -> Any:
    return LlamaConfig(**_common(num_hidden_layers=3))


def _window() -> Any:
    return MistralConfig(**_common(num_hidden_layers=3, sliding_window=40))


def _mixed() -> Any:
    """Two full and five window layers: groups of two, the last with one layer only."""
    full, window = "full_attention", "sliding_attention"
    types = [window, window, full, window, window, full, window]
    return Gemma3TextConfig(
        **_common(
            num_hidden_layers=7, sliding_window=40, layer_types=types, query_pre_attn_scalar=32
        )
    )


def _hybrid() -> Any:
    """Gated delta net and full attention, three to one, without experts."""
    return Qwen3NextConfig(
        **_common(
            num_hidden_layers=4,
            linear_num_key_heads=2,
            linear_num_value_heads=4,
            linear_key_head_dim=32,
            linear_value_head_dim=32,
            linear_conv_kernel_dim=4,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=64,
            shared_expert_intermediate_size=64,
            dtype="bfloat16",
        )
    )


KINDS: dict[str, Callable[[], Any]] = {
    "full": _full,
    "window": _window,
    "mixed": _mixed,
    "hybrid": _hybrid,
}


def make_tiny_model(kind: str, folder: Path) -> Path:
    """Writes config, random weights and a tokenizer of single-word tokens; the same each time."""
    config = KINDS[kind]()
    torch.manual_seed(7)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:  # wide enough apart that greedy choices are no near-ties
                weight.normal_(0.0, 0.25 if weight.shape[0] == VOCABULARY else 0.08)
    model.save_pretrained(folder)
    _write_tokenizer(folder)
    return folder


def _write_tokenizer(folder: Path) -> None:
    words = {"<pad>": 0, "<s>": 1, "</s>": 2} | {f"w{i}": i for i in range(3, VOCABULARY)}
    tokenizer = Tokenizer(WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    ).save_pretrained(folder)


if __name__ == "__main__":
    make_tiny_model(sys.argv[1], Path(sys.argv[2]))
