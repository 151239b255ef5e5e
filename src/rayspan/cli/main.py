"""The command line: one file a command, each of them parse, call one function, print.

Result on stdout, progress on stderr. Exit codes: 0 as asked, 1 the answer is no (a failed check),
2 the input is wrong, 3 the world is (taken port, no memory, unreachable).
"""

import os
import sys
import traceback

import typer

from rayspan import __version__
from rayspan.cli import chat, down, render, schema, stack, status, up, verify
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


for command in (up, down, status, chat, render, verify, schema):
    app.command()(command.command)
app.add_typer(stack.app, name="stack")


def main() -> None:
    """Runs the command line; every error meant for a user ends in one message and its exit code."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except RayspanError as error:
        print(f"rayspan: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        print("rayspan: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
    except typer.Exit as leaving:
        sys.exit(leaving.exit_code)
    except Exception as error:  # noqa: BLE001  (the one place that may: see below)
        _usage_or_defect(error)


def _usage_or_defect(error: Exception) -> None:
    from click import ClickException

    if isinstance(error, ClickException):
        error.show()
        sys.exit(2)
    traceback.print_exc()
    print(f"rayspan: this is a defect of rayspan {__version__}; please report it", file=sys.stderr)
    sys.exit(70)


if __name__ == "__main__":
    main()
