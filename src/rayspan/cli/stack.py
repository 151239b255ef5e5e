"""`rayspan stack`"""

from typing import Annotated

import typer

from rayspan.cli.output import print_json
from rayspan.stack.row import all_rows

app = typer.Typer(help="Versions that were validated together.", no_args_is_help=True)


@app.command("list")
def list_rows(
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show the stack rows, their status and evidence."""
    rows = all_rows()
    if as_json:
        print_json(rows)
        return
    for row in rows:
        print(f"{row.id}  {row.status}  {row.date}  {row.evidence}")
