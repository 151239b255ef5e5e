"""Writes the names of vLLM's engine arguments as data, from the installed vLLM.

It reads vLLM's source and imports none of it: that would take many seconds and need a device.

    python tools/gen_engine_arguments.py [--check]
"""

import ast
import importlib.util
import sys
from pathlib import Path

HOME = Path(__file__).parents[1] / "src/rayspan/spec/engine_arguments.toml"
_SOURCES = {
    "engine": ("engine/arg_utils.py", ("EngineArgs", "AsyncEngineArgs")),
    "frontend": ("entrypoints/openai/cli_args.py", ("BaseFrontendArgs",)),
    "server": ("entrypoints/openai/cli_args.py", ("FrontendArgs",)),
}
# Stand among the HTTP server's, yet what answers inside Ray's replicas reads them as well.
_READ_UNDER_RAY = {"enable_flash_late_interaction"}
_HEAD = "# Made by tools/gen_engine_arguments.py from the vLLM of the stack; do not edit.\n"


def engine_arguments(package: Path) -> dict[str, list[str]]:
    """Names by group, each sorted, from the folder of the vllm package."""
    found = {
        group: {name for cls in classes for name in _fields(package / file, cls)}
        for group, (file, classes) in _SOURCES.items()
    }
    found["frontend"] |= found["server"] & _READ_UNDER_RAY
    found["server"] -= _READ_UNDER_RAY
    return {group: sorted(names) for group, names in found.items()}


def engine_arguments_text(package: Path) -> str:
    """The data file."""
    groups = engine_arguments(package).items()
    tables = ["\n".join([f"{g} = [", *(f'    "{n}",' for n in names), "]"]) for g, names in groups]
    return _HEAD + "\n".join(tables) + "\n"


def vllm_folder() -> Path | None:
    """Where vLLM is installed; None where it is not."""
    spec = importlib.util.find_spec("vllm")
    return Path(spec.origin).parent if spec and spec.origin else None


def _fields(source: Path, class_name: str) -> list[str]:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
    body = next(node.body for node in classes if node.name == class_name)
    assigned = (node for node in body if isinstance(node, ast.AnnAssign))
    return [
        node.target.id
        for node in assigned
        if isinstance(node.target, ast.Name) and "ClassVar" not in ast.unparse(node.annotation)
    ]


def main() -> int:
    if (package := vllm_folder()) is None:
        print("vLLM is not installed", file=sys.stderr)
        return 3
    text = engine_arguments_text(package)
    if "--check" not in sys.argv[1:]:
        HOME.write_text(text, encoding="utf-8")
    elif HOME.read_text(encoding="utf-8") != text:
        print(f"{HOME} is not what the installed vLLM has: run {sys.argv[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
