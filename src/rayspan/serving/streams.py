"""A stream of server-sent events that says how it ended.

vLLM 0.26 skips empty outputs before it looks for an error, so a streamed request that fails before
its first token ends with `[DONE]` and nothing else: HTTP 200, no token, no error. A client cannot
tell that from an empty answer.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any, Final

_DATA: Final = "data: "
_DONE: Final = "[DONE]"
_ERROR: Final = {
    "error": {
        "message": "The engine ended the request without an answer.",
        "type": "server_error",
        "param": None,
        "code": "internal_error",
    }
}


async def with_an_end(events: AsyncIterable[Any]) -> AsyncIterator[str]:
    """Passes on what comes, and adds OpenAI's error event where neither a finish reason nor an
    error came before the end. A chunk may hold several events, but no part of one."""
    ended = False
    async for chunk in events:
        text = chunk.decode() if isinstance(chunk, bytes) else str(chunk)
        ended = ended or _tells_an_end(text)
        if not ended and f"{_DATA}{_DONE}" in text:
            ended = True
            before, done, after = text.partition(f"{_DATA}{_DONE}")
            text = f"{before}{_error_event()}{done}{after}"
        yield text
    if not ended:
        yield f"{_error_event()}{_DATA}{_DONE}\n\n"


def _error_event() -> str:
    return f"{_DATA}{json.dumps(_ERROR)}\n\n"


def _tells_an_end(text: str) -> bool:
    for line in text.splitlines():
        if not line.startswith(_DATA) or line == f"{_DATA}{_DONE}":
            continue
        try:
            event = json.loads(line.removeprefix(_DATA))
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        choices = event.get("choices") or []
        if "error" in event or any(choice.get("finish_reason") for choice in choices):
            return True
    return False
