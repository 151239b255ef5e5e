"""`rayspan chat`"""

import sys
from typing import Annotated

import typer

from rayspan.local.chat import stream_chat
from rayspan.local.run_folder import Deployment
from rayspan.local.status import current_deployment


def command(
    prompt: Annotated[
        str | None, typer.Argument(help="Without one: read lines from stdin.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Tokens to answer with at most.")] = 256,
) -> None:
    """Ask the running deployment; the answer streams."""
    deployment = current_deployment()
    if prompt is not None:
        _answer(deployment, prompt, max_tokens)
        return
    for line in sys.stdin:
        if line.strip():
            _answer(deployment, line.strip(), max_tokens)


def _answer(deployment: Deployment, prompt: str, max_tokens: int) -> None:
    for piece in stream_chat(deployment, prompt, max_tokens):
        print(piece, end="", flush=True)
    print()
