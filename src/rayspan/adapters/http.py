"""The door to HTTP: Ray's dashboard and the deployment's own OpenAI endpoint."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx

from rayspan.errors import WorldError

Json = dict[str, Any]


def get_json(url: str, timeout_s: float = 5.0) -> Json | None:
    """The answer's object; None when nobody answers or the answer is not a success."""
    try:
        answer = httpx.get(url, timeout=timeout_s)
    except httpx.TransportError:
        return None
    return answer.json() if answer.is_success else None


def get_text(url: str, timeout_s: float = 5.0) -> str | None:
    """As `get_json`, for text."""
    try:
        answer = httpx.get(url, timeout=timeout_s)
    except httpx.TransportError:
        return None
    return answer.text if answer.is_success else None


def put_json(url: str, body: Json, timeout_s: float = 30.0) -> None:
    """Raises WorldError with the server's own words when it refuses."""
    try:
        answer = httpx.put(url, json=body, timeout=timeout_s)
    except httpx.TransportError as error:
        raise WorldError(f"{url} does not answer: {error}") from error
    if not answer.is_success:
        raise WorldError(f"{url} refused the configuration: {answer.text.strip()[-1000:]}")


def post_json(url: str, body: Json, timeout_s: float = 120.0) -> tuple[int, Json]:
    """Status and object of the answer. Raises WorldError when nobody answers or it is not JSON."""
    try:
        answer = httpx.post(url, json=body, timeout=timeout_s)
        return answer.status_code, answer.json()
    except (httpx.TransportError, ValueError) as error:
        raise WorldError(f"no usable answer from {url}: {error or type(error).__name__}") from error


def exchange(url: str, body: Json, timeout_s: float = 120.0) -> tuple[int, str]:
    """Status and whole text of the answer, streamed or not; status 0 and why when none came."""
    try:
        answer = httpx.post(url, json=body, timeout=timeout_s)
    except httpx.TransportError as error:
        return 0, str(error) or type(error).__name__
    return answer.status_code, answer.text


def break_off(url: str, body: Json, after_s: float) -> bool:
    """Asks, and hangs up after that long; whether the answer had ended before."""
    deadline = time.monotonic() + after_s
    try:
        with httpx.stream("POST", url, json=body, timeout=max(after_s, 0.001)) as answer:
            return all(time.monotonic() < deadline for _line in answer.iter_lines())
    except httpx.TransportError:
        return False


def read_slowly(
    url: str, body: Json, pause_s: float, enough: threading.Event, timeout_s: float = 120.0
) -> tuple[int, str]:
    """As `exchange`, but takes a line every `pause_s`, through a small buffer, until `enough`."""
    small = httpx.HTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)])
    lines = []
    try:
        with (
            httpx.Client(transport=small, timeout=timeout_s) as client,
            client.stream("POST", url, json=body) as answer,
        ):
            for line in answer.iter_lines():
                lines.append(line)
                enough.wait(pause_s)
            return answer.status_code, "\n".join(lines)
    except httpx.TransportError as error:
        return 0, str(error) or type(error).__name__


async def exchange_within(app: Any, path: str, body: Json) -> tuple[int, str]:
    """As `exchange`, with an ASGI application of this process instead of a server."""
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://within") as client:
        answer = await client.post(path, json=body, timeout=None)
    return answer.status_code, answer.text


def stream_events(url: str, body: Json, timeout_s: float = 120.0) -> Iterator[Json]:
    """The objects of a server-sent event stream up to `[DONE]`.

    Raises WorldError when nobody answers, the answer is an error, or the stream breaks off.
    """
    try:
        with httpx.stream("POST", url, json=body, timeout=timeout_s) as answer:
            if not answer.is_success:
                raise WorldError(_error_text(answer.status_code, answer.read()))
            for line in answer.iter_lines():
                if line == "data: [DONE]":
                    return
                if line.startswith("data: "):
                    yield _checked(json.loads(line.removeprefix("data: ")))
    except httpx.TransportError as error:
        raise WorldError(
            f"the connection to {url} broke: {error or type(error).__name__}"
        ) from error
    raise WorldError(f"the stream from {url} ended without [DONE]")


def _checked(event: Json) -> Json:
    if "error" in event:
        raise WorldError(f"the endpoint answered with an error: {event['error']}")
    return event


def _error_text(status: int, body: bytes) -> str:
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = body.decode(errors="replace").strip()[:500]
    return f"the endpoint answered {status}: {message}"
