"""`rayspan down`"""

from typing import Annotated

import typer

from rayspan.cli import lab
from rayspan.cli.output import print_json
from rayspan.lab.state import read_lab
from rayspan.local.down import down
from rayspan.local.run_folder import run_folder


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """End the deployment on this machine, whatever state it is in."""
    if read_lab(run_folder()):
        lab.down(as_json)
        return
    ended = down()
    if as_json:
        print_json(ended)
    elif ended.nothing_was_up:
        print("nothing was up")
    else:
        left = f"; ended {ended.hunted} processes that a crash had left" if ended.hunted else ""
        print(f"down{left}")
