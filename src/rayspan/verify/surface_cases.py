"""What clients ask an OpenAI endpoint for, one request for each of its features."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rayspan.verify.target import Target

TEXT, CHAT = "/v1/completions", "/v1/chat/completions"
_PROMPT = "The capital of France is"
_QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
_TOKENS = 8
_SURE = 100  # added to a token's score: it will be the next one
_TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
_SCHEMA = {
    "type": "object",
    "properties": {"sure": {"type": "boolean"}},
    "required": ["sure"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Case:
    """One request. `may_refuse`: a clean 4xx is as good an answer as the reference's."""

    name: str
    path: str
    body: dict[str, Any]
    may_refuse: bool = False

    @property
    def with_leads(self) -> tuple[str, dict[str, Any]]:
        """The request that also tells how sure the engine was of each token."""
        asked = {"logprobs": 2} if self.path == TEXT else {"logprobs": True, "top_logprobs": 2}
        plain = {k: v for k, v in self.body.items() if k not in ("stream", "stream_options")}
        return self.path, plain | asked


def surface_cases(target: Target) -> tuple[Case, ...]:
    """Reasoning is among the chat answers where the engine was given a parser for it."""
    return tuple(
        Case(name, path, _common(target) | more, may_refuse)
        for name, path, more, may_refuse in [*_answered(target), *_refusable()]
    )


def _common(target: Target) -> dict[str, Any]:
    return {
        "model": target.spec.model.id,
        "temperature": 0,
        "repetition_penalty": 1.0,
        "max_tokens": _TOKENS,
        "return_token_ids": True,
    }


_Row = tuple[str, str, dict[str, Any], bool]


def _answered(target: Target) -> Iterator[_Row]:
    text: dict[str, Any] = {"prompt": _PROMPT}
    chat: dict[str, Any] = {"messages": _QUESTION}
    stream = {"stream": True, "stream_options": {"include_usage": True}}
    schema = {"type": "json_schema", "json_schema": {"name": "s", "schema": _SCHEMA}}
    yield "text", TEXT, text, False
    yield "text stream", TEXT, text | stream, False
    yield "text stop", TEXT, text | {"stop": ["e", "a"]}, False
    yield "text max_tokens 1", TEXT, text | {"max_tokens": 1}, False
    yield "text logprobs", TEXT, text | {"logprobs": 2}, False
    yield "text echo", TEXT, text | {"echo": True}, True
    yield "chat", CHAT, chat, False
    yield "chat stream", CHAT, chat | stream, False
    yield "chat logprobs", CHAT, chat | {"logprobs": True, "top_logprobs": 2}, False
    yield "chat structured", CHAT, chat | {"response_format": schema, "max_tokens": 24}, False
    if (end := target.end_token) is not None:
        yield "text end first", TEXT, text | {"logit_bias": {str(end): _SURE}}, False
        yield "chat end first", CHAT, chat | {"logit_bias": {str(end): _SURE}}, False
    if context := target.context:
        yield "text too long", TEXT, {"prompt": [5] * (context + 1)}, True


def _refusable() -> Iterator[_Row]:
    text: dict[str, Any] = {"prompt": _PROMPT}
    chat: dict[str, Any] = {"messages": _QUESTION}
    yield "unknown model", TEXT, text | {"model": "no-such-model"}, True
    yield "text n 2", TEXT, text | {"n": 2}, True
    yield "text prompts", TEXT, {"prompt": [_PROMPT, "One, two, three,"]}, True
    yield "text echo logprobs", TEXT, text | {"echo": True, "logprobs": 2}, True
    yield "chat n 2", CHAT, chat | {"n": 2}, True
    yield "chat tools", CHAT, chat | {"tools": [_TOOL]}, True
    yield "chat tool required", CHAT, chat | {"tools": [_TOOL], "tool_choice": "required"}, True
