"""Talks to the running deployment."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from rayspan.adapters import http
from rayspan.local.run_folder import Deployment

PROBE = "What is the capital of France?"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and after how many seconds the first token did."""

    text: str
    first_token_s: float


def stream_chat(deployment: Deployment, prompt: str, max_tokens: int) -> Iterator[str]:
    """Pieces of the greedy answer, as they come. Raises WorldError as `http.stream_events` does."""
    body = {
        "model": deployment.spec.model.id,
        "messages": [{"role": "user", "content": prompt}],
        "temperature": 0,
        "max_tokens": max_tokens,
        "stream": True,
    }
    for event in http.stream_events(f"{deployment.api_base}/v1/chat/completions", body):
        for choice in event["choices"]:
            if piece := choice["delta"].get("content"):
                yield piece


def probe(deployment: Deployment) -> Answer:
    """Sends the one question every deployment is greeted with."""
    start = time.monotonic()
    first, pieces = 0.0, []
    for piece in stream_chat(deployment, PROBE, max_tokens=32):
        first = first or time.monotonic() - start
        pieces.append(piece)
    return Answer("".join(pieces), first)
