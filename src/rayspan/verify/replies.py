"""An endpoint's answer, streamed or whole, as the few things that clients go by."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Reply = tuple[int, str]  # HTTP status and body

_OK, _REFUSED, _BROKEN = 200, 400, 500
_KEPT = ("text", "content", "reasoning", "reasoning_content", "finish_reason", "tools", "tokens")


@dataclass(slots=True)
class Choice:
    """One of the answers; a stream's pieces are joined."""

    said: dict[str, Any] = field(default_factory=dict)
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    leads: list[float] = field(default_factory=list)  # over the second likeliest token, in nats


@dataclass(frozen=True, slots=True)
class Told:
    """What a reply says. `refused`: a clean 4xx. `broken`: why it is no answer at all."""

    choices: Mapping[int, Choice]
    usage: tuple[int, int] | None = None
    refused: str = ""
    broken: str = ""


def read_reply(reply: Reply) -> Told:
    status, text = reply
    if status != _OK:
        return _error(status, text)
    try:
        events = list(_events(text)) if text.lstrip().startswith("data:") else [json.loads(text)]
        return _read(events)
    except (ValueError, KeyError, TypeError) as error:
        return Told({}, broken=f"200 with what is no answer: {text[:200]!r} ({error!r})")


def _error(status: int, text: str) -> Told:
    try:
        message = str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return Told({}, broken=f"{status} without an error message: {text[:200]!r}")
    if _REFUSED <= status < _BROKEN:
        return Told({}, refused=f"{status} {message}")
    return Told({}, broken=f"{status} {message}")


def _events(text: str) -> Iterable[dict[str, Any]]:
    lines = [line.removeprefix("data:").strip() for line in text.splitlines() if line.strip()]
    if lines[-1] != "[DONE]":
        raise ValueError("the stream ended without [DONE]")
    return (json.loads(line) for line in lines[:-1])


def _read(events: list[dict[str, Any]]) -> Told:
    choices: dict[int, Choice] = {}
    usage = None
    for event in events:
        if "error" in event:
            return Told({}, broken=f"200 with an error in it: {event['error']}")
        for piece in event.get("choices", []):
            _join(choices.setdefault(piece["index"], Choice()), piece)
        if counts := event.get("usage"):
            usage = (counts["prompt_tokens"], counts["completion_tokens"])
    return Told(choices, usage)


def _join(choice: Choice, piece: dict[str, Any]) -> None:
    message = piece.get("message") or piece.get("delta") or piece
    tools = [call["function"] for call in message.get("tool_calls") or []]
    pieces = {**{key: message.get(key) for key in _KEPT}, "tools": tools or None}
    pieces["finish_reason"] = piece.get("finish_reason")
    for key, value in pieces.items():
        if value:
            choice.said[key] = choice.said[key] + value if key in choice.said else value
    choice.token_ids += piece.get("token_ids") or []
    if logprobs := piece.get("logprobs"):
        _join_logprobs(choice, logprobs)


def _join_logprobs(choice: Choice, logprobs: dict[str, Any]) -> None:
    """Chat has a list of entries, completions have lists side by side."""
    if "content" in logprobs:
        entries = logprobs["content"] or []
        tokens = [entry["token"] for entry in entries]
        values = [entry["logprob"] for entry in entries]
        tops = [[top["logprob"] for top in entry["top_logprobs"]] for entry in entries]
    else:
        tokens, values = logprobs["tokens"], logprobs["token_logprobs"]
        tops = [list((top or {}).values()) for top in logprobs.get("top_logprobs") or []]
    choice.said["tokens"] = choice.said.get("tokens", []) + tokens
    choice.logprobs += [value for value in values if value is not None]
    choice.leads += [_lead(top) for top in tops]


def _lead(top: list[float]) -> float:
    best = sorted(top, reverse=True)[:2]
    return best[0] - best[1] if len(best) > 1 else float("inf")
