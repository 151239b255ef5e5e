"""The command line: one file a command, each of them parse, call one function, print.

Result on stdout, progress on stderr. Exit codes: 0 as asked, 1 the answer is no (a failed check),
2 the input is wrong, 3 the world is (taken port, no memory, unreachable).
"""

import os
import sys

import typer

from rayspan import __version__
from rayspan.cli import chat, down, drill, lab, render, schema, stack, status, up, verify
from rayspan.errors import RayspanError

app = typer.Typer(
    help=__doc__.partition("\n\n")[2] if __doc__ else None,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        print(f"rayspan {__version__}")
        raise typer.Exit


for module in (up, down, status, chat, render, verify, drill, schema):
    app.command(module.__name__.rpartition(".")[2])(module.command)
app.add_typer(lab.app, name="lab")
app.add_typer(stack.app, name="stack")


def main() -> None:
    """Runs the command line; an error meant for the user is one message and its exit code."""
    try:
        app()
    except RayspanError as error:
        print(f"rayspan: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader left: there is nobody to tell


if __name__ == "__main__":
    main()
