"""Streams that say how they ended, and those that do not."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from rayspan.serving.streams import with_an_end

TOKEN = 'data: {"choices": [{"delta": {"content": "a"}, "finish_reason": null}]}\n\n'
LAST = 'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
USAGE = 'data: {"choices": [], "usage": {"prompt_tokens": 1}}\n\n'
ERROR = 'data: {"error": {"message": "no"}}\n\n'
DONE = "data: [DONE]\n\n"


def passed_on(*chunks: str | bytes) -> str:
    async def source() -> AsyncIterator[str | bytes]:
        for chunk in chunks:
            yield chunk

    async def collect() -> str:
        return "".join([text async for text in with_an_end(source())])

    return asyncio.run(collect())


@pytest.mark.parametrize(
    "chunks",
    [
        (TOKEN, LAST, DONE),
        (TOKEN, LAST, USAGE, DONE),
        (TOKEN + LAST + DONE,),
        (ERROR, DONE),
        (TOKEN.encode(), LAST.encode(), DONE.encode()),
    ],
)
def test_a_stream_with_an_end_is_passed_on_as_it_is(chunks: tuple[str | bytes, ...]) -> None:
    whole = "".join(c.decode() if isinstance(c, bytes) else c for c in chunks)
    assert passed_on(*chunks) == whole


@pytest.mark.parametrize(
    "chunks", [(DONE,), (TOKEN, DONE), (TOKEN + DONE,), (), (TOKEN,), (USAGE, DONE)]
)
def test_a_stream_without_an_end_gets_an_error(chunks: tuple[str, ...]) -> None:
    lines = [line for line in passed_on(*chunks).splitlines() if line]
    assert lines[-1] == "data: [DONE]"
    assert lines.count("data: [DONE]") == 1
    error = json.loads(lines[-2].removeprefix("data: "))["error"]
    assert error["type"] == "server_error"


def test_what_is_no_event_is_left_alone() -> None:
    odd = ": comment\ndata: not json\n\ndata: 3\n\n"
    assert passed_on(odd, LAST, DONE) == odd + LAST + DONE
