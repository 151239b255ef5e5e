"""Which requests a deployment must refuse, told from their fields alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused: the field at fault, and what to do instead."""

    field: str
    message: str


_INTERNAL_FIELDS = ("kv_transfer_params", "ec_transfer_params")
_DOCS = "see docs/reference/openai-surface.md"


def internal_field(fields: Mapping[str, Any]) -> Refusal | None:
    """Transfer parameters name hosts and blocks of memory: they are between engines alone."""
    for field in _INTERNAL_FIELDS:
        if fields.get(field) is not None:
            return Refusal(field, f"{field} is not a field that clients may set")
    return None


def under_prefill_decode(fields: Mapping[str, Any]) -> Refusal | None:
    """The first thing in a request that prefill/decode would answer wrongly or break on."""
    for field, refused, instead in _rules(fields):
        if refused:
            return Refusal(field, f"{field}: {instead} under prefill/decode ({_DOCS})")
    return None


def _rules(fields: Mapping[str, Any]) -> list[tuple[str, bool, str]]:
    echo_with_logprobs = bool(fields.get("echo")) and fields.get("logprobs") is not None
    tool_choice = fields.get("tool_choice") or "none"
    return [
        ("prompt", _has_several_prompts(fields.get("prompt")), "send one prompt a request"),
        ("n", (fields.get("n") or 1) > 1, "send the request n times, n > 1 is not supported"),
        ("best_of", (fields.get("best_of") or 1) > 1, "best_of > 1 is not supported"),
        ("echo", echo_with_logprobs, "echo with logprobs is not supported"),
        ("prompt_logprobs", fields.get("prompt_logprobs") is not None, "not supported"),
        ("min_tokens", (fields.get("min_tokens") or 0) > 1, "values above 1 are not supported"),
        (
            "tool_choice",
            tool_choice not in ("none", "auto"),
            'only "none" and "auto" are supported',
        ),
        ("use_beam_search", bool(fields.get("use_beam_search")), "beam search is not supported"),
    ]


def _has_several_prompts(prompt: Any) -> bool:
    """Whether `prompt` is a list of texts or of token lists with more than one entry."""
    return isinstance(prompt, list) and len(prompt) > 1 and not isinstance(prompt[0], int)
