"""Talks to the running deployment."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rayspan.adapters import http
from rayspan.errors import WorldError
from rayspan.local.run_folder import Deployment

PROBE = "What is the capital of France?"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and after how many seconds the first token did."""

    text: str
    first_token_s: float


def stream_chat(deployment: Deployment, prompt: str, max_tokens: int) -> Iterator[str]:
    """Pieces of the greedy answer, as they come; of the prompt's completion where the model has no
    chat template. Raises WorldError as `http.stream_events` does.
    """
    message = {"messages": [{"role": "user", "content": prompt}]}
    try:
        for choice in _choices(deployment, "chat/completions", message, max_tokens):
            yield choice["delta"].get("content") or ""
    except WorldError as error:
        if "chat template" not in error.message:
            raise
        for choice in _choices(deployment, "completions", {"prompt": prompt}, max_tokens):
            yield choice["text"]


def _choices(
    deployment: Deployment, route: str, prompt: dict[str, Any], max_tokens: int
) -> Iterator[dict[str, Any]]:
    body = {
        "model": deployment.spec.model.id,
        "temperature": 0,
        "max_tokens": max_tokens,
        "stream": True,
        **prompt,
    }
    for event in http.stream_events(f"{deployment.api_base}/v1/{route}", body):
        yield from event["choices"]


def probe(deployment: Deployment) -> Answer:
    """Sends the one question every deployment is greeted with."""
    start = time.monotonic()
    first, pieces = 0.0, []
    for piece in filter(None, stream_chat(deployment, PROBE, max_tokens=32)):
        first = first or time.monotonic() - start
        pieces.append(piece)
    return Answer("".join(pieces), first)
