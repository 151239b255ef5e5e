"""Deployments that are really broken, each in one way that a check must see.

A variant is a plugin that every vLLM process of a deployment loads when `as_plugin` put it on
PYTHONPATH: the rest of the deployment is the real one.
"""

import os
from pathlib import Path

HERE = Path(__file__).parent


def as_plugin(variant: str, folder: Path) -> dict[str, str]:
    """Writes a package for `tests/broken/<variant>.py`; gives the environment that finds it."""
    module = f"rayspan_broken_{variant}"
    (folder / f"{module}.py").write_text((HERE / f"{variant}.py").read_text())
    information = folder / f"{module}-0.dist-info"
    information.mkdir(exist_ok=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 0\n")
    (information / "entry_points.txt").write_text(
        f"[vllm.general_plugins]\n{module} = {module}:register\n"
    )
    return {"PYTHONPATH": os.pathsep.join([str(folder), *_already()])}


def _already() -> list[str]:
    return [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
