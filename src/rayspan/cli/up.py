"""`rayspan up`"""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from rayspan.cli.hold import greet, hold, interruptible
from rayspan.cli.output import StepPrinter
from rayspan.local import down
from rayspan.local import up as local_up
from rayspan.spec import builtin_spec, load_spec


def command(
    spec: Annotated[
        Path | None,
        typer.Argument(help="A spec; without one: SmolLM2, 1 prefill + 1 decode, on CPU."),
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return once it is up, and leave it running.")
    ] = False,
    preload: Annotated[
        bool, typer.Option(help="Fork processes from one that has imported the stack (CPU only).")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run a spec on this machine behind one OpenAI-compatible endpoint."""
    wanted, progress = load_spec(spec) if spec else builtin_spec(), StepPrinter()
    with contextlib.closing(progress), interruptible():
        deployment = local_up.up(wanted, progress, preload)
        try:
            greet(deployment, progress, as_json)
            if not detach:
                hold(deployment)
        except BaseException:
            down.down()
            raise
