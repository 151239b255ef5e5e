"""`rayspan lab up`"""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from rayspan.cli.hold import greet, hold, interruptible
from rayspan.cli.output import StepPrinter, warn
from rayspan.lab.down import lab_down
from rayspan.lab.layout import Isolation, LabOptions
from rayspan.lab.up import lab_up
from rayspan.spec import builtin_spec, load_spec

_DEFAULT = LabOptions()


def command(  # noqa: PLR0917  (typer passes options by name)
    spec: Annotated[
        Path | None,
        typer.Argument(help="A spec; without one: SmolLM2, 1 prefill + 1 decode, on CPU."),
    ] = None,
    workers: Annotated[int, typer.Option(help="Worker hosts beside the head.")] = _DEFAULT.workers,
    bandwidth: Annotated[
        str | None, typer.Option(help='What each host may send, as tc writes it: "1gbit".')
    ] = None,
    latency_ms: Annotated[
        float, typer.Option(min=0, help="Delay of what each host sends, in milliseconds.")
    ] = 0.0,
    loss: Annotated[
        float, typer.Option(min=0, max=100, help="Share of frames lost, in percent.")
    ] = 0.0,
    subnet: Annotated[str, typer.Option(help="Addresses of the hosts.")] = _DEFAULT.subnet,
    isolation: Annotated[
        Isolation,
        typer.Option(
            help="full: network, IPC and PID namespace and /dev/shm of its own for each host. "
            "network: without the last three, so that UCX goes through shared memory. none: "
            "plain processes on 127.0.0.x."
        ),
    ] = "full",
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return once it is up, and leave it running.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run a spec on several hosts of this machine, as on a cluster. Needs root."""
    wanted, progress = load_spec(spec) if spec else builtin_spec(), StepPrinter()
    options = LabOptions(workers, isolation, bandwidth, latency_ms, loss, subnet)
    with contextlib.closing(progress), interruptible():
        deployment = lab_up(wanted, options, progress, warn)
        try:
            greet(deployment, progress, as_json)
            if not detach:
                hold(deployment)
                lab_down()
        except BaseException:
            lab_down()
            raise
