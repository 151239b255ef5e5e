"""Prompts no cache has seen, of lengths at which block arithmetic goes wrong, and their answers.

They are token ids, not text, so that lengths are exact and no tokenizer stands in between.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from rayspan.adapters.http import post_json

NEW_TOKENS = 8
_ORDINARY = 16  # ids below are special tokens in most vocabularies


@dataclass(frozen=True, slots=True)
class Probe:
    """One prompt."""

    prompt: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Token ids of the answer, or why there is none."""

    probe: Probe
    token_ids: tuple[int, ...] = ()
    error: str = ""


def choose_lengths(
    block_sizes: Sequence[int], step_tokens: int, max_model_len: int | None
) -> tuple[int, ...]:
    """One token, around each block boundary, and one prompt that takes the engine several steps."""
    lengths = {1, step_tokens + max(block_sizes) // 2 + 1}
    for block in block_sizes:
        lengths |= {block - 1, block, block + 1}
    longest = (max_model_len or step_tokens * 2) - NEW_TOKENS
    return tuple(sorted({min(length, longest) for length in lengths if length > 0}))


def make_probes(lengths: Sequence[int], vocabulary: int, seed: int) -> tuple[Probe, ...]:
    """The same seed gives the same prompts."""
    chance = random.Random(seed)  # noqa: S311  (prompts, not secrets)
    lowest = min(_ORDINARY, vocabulary // 2)
    return tuple(
        Probe(tuple(chance.randrange(lowest, vocabulary) for _ in range(length)))
        for length in lengths
    )


def ask(api_base: str, model: str, probe: Probe, new_tokens: int = NEW_TOKENS) -> Answer:
    """Asks for exactly `new_tokens` greedy tokens; a refusal is an answer with an error.

    Penalties are set off because engines take their defaults from the model's generation config.
    """
    body = {
        "model": model,
        "prompt": list(probe.prompt),
        "max_tokens": new_tokens,
        "temperature": 0,
        "repetition_penalty": 1.0,
        "ignore_eos": True,
        "return_token_ids": True,
    }
    status, answer = post_json(f"{api_base}/v1/completions", body)
    try:
        choice = answer["choices"][0]
        if choice["prompt_token_ids"] != list(probe.prompt):
            return Answer(
                probe, error="the endpoint did not take the prompt as the token ids given"
            )
        return Answer(probe, tuple(choice["token_ids"]))
    except (KeyError, IndexError, TypeError):
        return Answer(probe, error=f"status {status}: {answer}"[:300])
