"""`rayspan render`"""

from pathlib import Path
from typing import Annotated

import typer

from rayspan.local.model_source import resolve_model
from rayspan.render import render_serve_config
from rayspan.spec import builtin_spec, load_spec


def command(
    spec: Annotated[
        Path | None, typer.Argument(help="A spec; without one: the built-in one.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", help="Write to this file, not stdout.")
    ] = None,
) -> None:
    """Print the Ray Serve configuration that `serve run` and `serve deploy` take."""
    loaded = load_spec(spec) if spec else builtin_spec()
    text = render_serve_config(loaded, model_source=resolve_model(loaded)).to_yaml()
    if output is None:
        print(text, end="")
    else:
        output.write_text(text)
