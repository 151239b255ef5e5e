"""Makes this checkout look installed to every Python process, without pip."""

import os
import tomllib
from pathlib import Path

from tests.tree import ROOT


def as_installed(folder: Path) -> None:
    """Puts the source and its entry points, which vLLM looks up, on PYTHONPATH."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    information = folder / f"rayspan-{project['version']}.dist-info"
    information.mkdir(parents=True, exist_ok=True)
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: rayspan\nVersion: {project['version']}\n"
    )
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (information / "entry_points.txt").write_text("\n".join(groups))
    paths = [str(folder), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def front_end() -> None:
    """Ray's dashboard ends itself when its web pages are missing, as in a slimmed installation,
    and Serve's REST API with it."""
    import ray  # noqa: PLC0415  (heavy)

    build = Path(ray.__file__).parent / "dashboard" / "client" / "build"
    if not build.exists():
        (build / "static").mkdir(parents=True)
        (build / "index.html").write_text("")
        (build / "favicon.ico").write_bytes(b"")
