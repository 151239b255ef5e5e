"""`rayspan verify`"""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from rayspan.cli.hold import interruptible
from rayspan.cli.output import StepPrinter, print_json, warn
from rayspan.cli.verdict_text import report_lines
from rayspan.lab.control import negative_control as run_control
from rayspan.local.status import current_deployment
from rayspan.spec import Spec
from rayspan.verify import Report, run_verify


def command(
    record_counters: Annotated[
        Path | None,
        typer.Option(help="Keep the nodes' counter files, before and after, in this folder."),
    ] = None,
    negative_control: Annotated[
        bool,
        typer.Option(
            "--negative-control",
            help="Check instead a throwaway pair whose KV cache does not cross the wire: the wire "
            "check must fail on it. Needs root.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Prove that the running deployment is what its spec asked for."""
    deployment = current_deployment()
    if negative_control:
        report = _control(deployment.spec)
    else:
        report = run_verify(deployment, record=record_counters)
    if as_json:
        print_json(report.to_dict())
    else:
        print("\n".join(report_lines(report)))
    raise typer.Exit(0 if report.passed else 1)


def _control(spec: Spec) -> Report:
    with contextlib.closing(StepPrinter()) as progress, interruptible():
        return run_control(spec, progress, warn)
