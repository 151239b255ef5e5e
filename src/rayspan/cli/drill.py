"""`rayspan drill`"""

import contextlib
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from rayspan.cli.hold import interruptible
from rayspan.cli.output import StepPrinter, print_json
from rayspan.drill import DRILLS, Drill, Result, run_drills
from rayspan.errors import InputError
from rayspan.lab.state import lab_of
from rayspan.local.status import current_deployment
from rayspan.verify import Verdict


def command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Drills; --list names them.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every drill there is.")] = False,
    show: Annotated[bool, typer.Option("--list", help="Name the drills, and play none.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Break the running deployment on purpose, and see how it takes it. Not on one in use."""
    if show:
        for drill in DRILLS:
            print(f"{drill.name:<24} {drill.what}")
        return
    drills = _chosen(names or [], every)
    deployment = current_deployment()
    with contextlib.closing(StepPrinter()) as progress, interruptible():
        results = run_drills(
            deployment, lab_of(deployment), drills, lambda d: progress.step(f"{d.name}: {d.what}")
        )
    if as_json:
        print_json(results)
    else:
        _print(results)
    raise typer.Exit(0 if _passed(results) else 1)


def _chosen(names: list[str], every: bool) -> list[Drill]:
    """In the catalogue's order, so that the harmless come first."""
    known = [drill.name for drill in DRILLS]
    if bool(names) == every:
        raise InputError("name drills, or --all", fix="`rayspan drill --list` names them")
    for name in names:
        if name not in known:
            raise InputError(f"there is no drill {name!r}; allowed: {', '.join(known)}")
    return [drill for drill in DRILLS if every or drill.name in names]


def _passed(results: list[Result]) -> bool:
    verdicts = {result.verdict for result in results}
    return Verdict.PASS in verdicts and verdicts <= {Verdict.PASS, Verdict.SKIP}


def _print(results: list[Result]) -> None:
    table = Table(box=None)
    for heading in ("DRILL", "VERDICT", "CLIENTS", "WRONG TOKENS", "RECOVERED", "REPLACED"):
        table.add_column(heading, overflow="fold")
    for one in results:
        clients = ", ".join(f"{number} {kind}" for kind, number in one.clients.items())
        recovered = "-" if one.recover_s is None else f"{one.recover_s:.0f} s"
        row = (clients or "-", str(one.tokens_wrong), recovered, str(len(one.restarted)))
        table.add_row(one.drill, one.verdict.value, *row)
    console = Console(highlight=False, soft_wrap=True)
    Console().print(table)
    for one in results:
        if one.verdict is not Verdict.PASS:
            console.print(f"{one.drill}: {one.summary}", markup=False)
        for words, number in one.errors.items():
            console.print(f"{one.drill}: {number} x {words}", markup=False)
