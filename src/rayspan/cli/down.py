"""`rayspan down`"""

from typing import Annotated

import typer

from rayspan.cli.output import print_json
from rayspan.local.down import down


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """End the deployment on this machine, whatever state it is in."""
    ended = down()
    if as_json:
        print_json(ended)
    elif ended.nothing_was_up:
        print("nothing was up")
    else:
        left = f"; ended {ended.hunted} processes that a crash had left" if ended.hunted else ""
        print(f"down{left}")
