"""`rayspan verify`"""

from pathlib import Path
from typing import Annotated

import typer

from rayspan.cli.output import print_json
from rayspan.cli.verdict_text import report_lines
from rayspan.local.status import current_deployment
from rayspan.verify import run_verify


def command(
    record_counters: Annotated[
        Path | None,
        typer.Option(help="Keep the nodes' counter files, before and after, in this folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Prove that the running deployment is what its spec asked for."""
    report = run_verify(current_deployment(), record=record_counters)
    if as_json:
        print_json(report.to_dict())
    else:
        print("\n".join(report_lines(report)))
    raise typer.Exit(0 if report.passed else 1)
