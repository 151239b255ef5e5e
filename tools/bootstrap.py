"""Sets up the virtual environment that rayspan runs in; the Makefile calls it.

Standard library only: nothing else is there yet. A part that is finished, by the content of the
files that say what belongs in it, is left alone. An environment whose base is unfinished or out of
date is made anew: uv's cache keeps the downloads, so nothing is fetched twice.
"""

import argparse
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STACK = Path("src/rayspan/stack")
SKIP_CHECKS = "RAYSPAN_SKIP_CHECKS"
HEARTBEAT_S = 10.0
GB = 10**9
# Would make pip, uv or Python install something else, or somewhere else, than what is written here.
_MISLEADING = re.compile(
    r"PYTHON(DONTWRITEBYTECODE|PYCACHEPREFIX|PATH|HOME|STARTUP|OPTIMIZE)|VIRTUAL_ENV|CONDA_PREFIX"
    r"|PIP_(USER|TARGET|PREFIX|ROOT|CONSTRAINT|REQUIREMENT|REQUIRE_VIRTUALENV|NO_DEPS|DRY_RUN|PYTHON)"
    r"|UV_(TORCH_BACKEND|CONSTRAINT|BUILD_CONSTRAINT|OVERRIDE|EXCLUDE|EXCLUDE_NEWER|PRERELEASE"
    r"|RESOLUTION|NO_BINARY.*|ONLY_BINARY.*|SYSTEM_PYTHON|PYTHON|TARGET|PREFIX|COMPILE_BYTECODE"
    r"|REQUIRE_HASHES|NO_VERIFY_HASHES|BREAK_SYSTEM_PACKAGES)"
)


class SetupError(Exception):
    """What the machine lacks or a step that failed, with how to mend it."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(f"{message}\n  fix: {fix}")


@dataclass(frozen=True, slots=True)
class Row:
    """The part of a row of `lock.toml` that an install needs."""

    id: str
    pins: Mapping[str, str]
    disk_gb: Mapping[str, float]
    memory_gb: float

    @classmethod
    def read(cls, root: Path) -> "Row":
        """The row for a machine without a GPU."""
        lock: dict[str, Any] = tomllib.loads((root / STACK / "lock.toml").read_text())
        table = next(row for row in lock["row"] if row["id"] == lock["default"]["cpu"])
        pins = {each["name"]: each["version"] for each in table["packages"] if "version" in each}
        return cls(table["id"], pins, table["install"]["disk_gb"], table["install"]["memory_gb"])


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are, and the key of each part: it changes with whatever goes into the part."""

    root: Path
    venv: Path
    row: Row

    def requirements(self, name: str) -> Path:
        return self.root / STACK / "requirements" / f"{name}.txt"

    def keys(self) -> dict[str, str]:
        python = f"{platform.python_version()} {sys.base_prefix} {self.venv}".encode()
        names = ("install", self.row.id, f"{self.row.id}-torch")
        base = [python, *(self.requirements(name).read_bytes() for name in names)]
        own = [*base, (self.root / "pyproject.toml").read_bytes()]
        dev = [*base, self.requirements("dev").read_bytes()]
        return {"base": _digest(base), "own": _digest(own), "dev": _digest(dev)}


def _digest(parts: Sequence[bytes]) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


class Stamps:
    """Which parts are finished: a file in the environment, which also says that we made it."""

    def __init__(self, venv: Path) -> None:
        self._venv, self._path = venv, venv / "rayspan-setup.json"

    def read(self) -> dict[str, str]:
        try:
            stamps: dict[str, str] = json.loads(self._path.read_text())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return {}
        return stamps

    def begin(self) -> None:
        """Empties the environment's folder. Raises SetupError when it is somebody else's."""
        if self._venv.exists() and not self._path.exists() and any(self._venv.iterdir()):
            raise SetupError(
                f"{self._venv} exists and was not made by this Makefile",
                fix="move it away, or choose another folder: make VENV=/path/to/folder",
            )
        shutil.rmtree(self._venv, ignore_errors=True)
        self._venv.mkdir(parents=True)
        self._path.write_text("{}")

    def finish(self, part: str, key: str) -> None:
        partial = self._path.with_suffix(".partial")
        partial.write_text(json.dumps(self.read() | {part: key}))
        partial.rename(self._path)


class Setup:
    """The steps. Each says what it does before it does it, and how long it took."""

    def __init__(self, layout: Layout, environment: Mapping[str, str]) -> None:
        self._layout, self._stamps = layout, Stamps(layout.venv)
        self._environment = clean(environment)
        self._checks = SKIP_CHECKS not in environment
        self._python = str(layout.venv / "bin" / "python")
        self._uv = str(layout.venv / "bin" / "uv")

    def ensure(self, dev: bool) -> bool:
        """Does what is not done yet; False when there was nothing to do."""
        keys, did = self._layout.keys(), False
        steps = {"base": self._base, "own": self._own} | ({"dev": self._dev} if dev else {})
        for part, step in steps.items():
            if self._stamps.read().get(part) != keys[part]:
                step()
                self._stamps.finish(part, keys[part])
                did = True
        return did

    def _base(self) -> None:
        if self._checks:
            check_platform(self._layout.row)
            check_disk(self._layout.venv, self._layout.row.disk_gb["pytorch_cpu"])
        self._stamps.begin()
        venv = [sys.executable, "-m", "venv", "--prompt", "rayspan", str(self._layout.venv)]
        self._run("making the Python environment", venv)
        pip = [self._python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        installer = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "-r"]
        install = str(self._layout.requirements("install"))
        self._run("fetching the installer, uv", [*pip, *installer, install])
        self._torch()
        self._hashed("installing Ray, vLLM and NIXL", self._layout.row.id)
        self._compile()

    def _torch(self) -> None:
        """PyTorch's CPU builds where they can be reached, else PyPI's build.

        The second cannot be loaded without CUDA's libraries, GPU or not. The first come without
        hashes: a hash would have to name their registry.
        """
        if self._torch_for_cpu():
            return
        if self._checks:
            check_disk(self._layout.venv, self._layout.row.disk_gb["pypi"])
            check_disk(self._cache(), self._layout.row.disk_gb["pypi"])
        self._hashed("installing PyTorch", f"{self._layout.row.id}-torch")

    def _torch_for_cpu(self) -> bool:
        names = ("torch", "torchaudio", "torchvision")
        pins = [f"{name}=={self._layout.row.pins[name]}" for name in names]
        command = [*self._install(), "--torch-backend", "cpu", "--no-deps", *pins]
        if not self._reachable([*command, "--dry-run"]):
            _say("PyTorch's CPU builds cannot be reached from here: taking PyPI's, which is larger")
            return False
        try:
            self._run("installing PyTorch's CPU build", command)
        except SetupError:
            _say("PyTorch's CPU build could not be installed: taking PyPI's, which is larger")
            return False
        return True

    def _reachable(self, dry_run: Sequence[str]) -> bool:
        quick = {"UV_HTTP_TIMEOUT": "10", "UV_HTTP_CONNECT_TIMEOUT": "10", "UV_HTTP_RETRIES": "0"}
        environment = {**self._environment, **quick}
        try:
            tried = subprocess.run(
                dry_run, env=environment, capture_output=True, timeout=30, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return tried.returncode == 0

    def _cache(self) -> Path:
        command = [self._uv, "cache", "dir"]
        return Path(subprocess.check_output(command, env=self._environment, text=True).strip())

    def _compile(self) -> None:
        """Without byte code, every process that imports vLLM compiles it again."""
        packages = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
        command = [self._python, "-m", "compileall", "-qq", "-j", "0"]
        folder = str(self._layout.venv / packages)
        # Some packages carry templates that are no Python: a status of 1 says nothing.
        self._run("compiling byte code, once", [*command, folder], allowed=(0, 1))

    def _own(self) -> None:
        command = [*self._install(), "--no-deps", "--no-build-isolation", "--editable"]
        self._run("installing rayspan", [*command, str(self._layout.root)])

    def _dev(self) -> None:
        self._hashed("installing the tools for tests", "dev", "--compile-bytecode")

    def _hashed(self, text: str, name: str, *options: str) -> None:
        command = [*self._install(), "--no-deps", "--require-hashes", "--only-binary", ":all:"]
        path = self._layout.requirements(name)
        self._run(f"{text} ({_size(path)})", [*command, *options, "-r", str(path)])

    def _install(self) -> list[str]:
        quiet = [] if sys.stderr.isatty() else ["--quiet"]  # to a file, it would list every package
        return [self._uv, "pip", "install", *quiet, "--python", self._python]

    def _run(self, text: str, command: Sequence[str], allowed: Sequence[int] = (0,)) -> None:
        _say(f"{text} ...")
        start, free = time.monotonic(), shutil.disk_usage(self._layout.venv).free
        process = subprocess.Popen(
            command, env=self._environment, cwd=self._layout.root, close_fds=False
        )
        while (status := _wait(process)) is None:
            if not sys.stderr.isatty():  # on a terminal, uv and pip show their own progress
                written = max(0, free - shutil.disk_usage(self._layout.venv).free) / GB
                _say(f"  {time.monotonic() - start:.0f} s, {written:.1f} GB written", quiet=True)
        if status not in allowed:
            raise SetupError(
                f"{text} failed with status {status}; the reason is above",
                fix="mend it and run again: what was downloaded is kept",
            )
        _say(f"  done in {time.monotonic() - start:.0f} s", quiet=True)


def _wait(process: subprocess.Popen[bytes]) -> int | None:
    """The exit status, or None if it is still running after a heartbeat."""
    try:
        return process.wait(HEARTBEAT_S)
    except subprocess.TimeoutExpired:
        return None
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise


def _say(text: str, quiet: bool = False) -> None:
    print(text if quiet else f"setup: {text}", file=sys.stderr, flush=True)


def _size(path: Path) -> str:
    """What a requirement file says of its downloads, as tools/lock.py writes it."""
    found = re.search(r"^# (\d+ MB to download)", path.read_text(), re.MULTILINE)
    return found[1] if found else "size unknown"


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would lead the install astray; registries and proxies stay."""
    return {k: v for k, v in environment.items() if not _MISLEADING.fullmatch(k)}


def check_platform(row: Row) -> None:
    """Raises SetupError where the wheels cannot run or the main job would not fit."""
    found = f"{platform.system()} {platform.machine()}"
    if found != "Linux x86_64":
        raise SetupError(f"this is {found}", fix="use a Linux machine with an x86-64 processor")
    if platform.libc_ver()[0] != "glibc":
        raise SetupError("this Linux has no glibc", fix="use Debian, Ubuntu, Fedora or their like")
    memory = memory_bytes()
    if memory < row.memory_gb * GB:
        raise SetupError(
            f"two engines need {row.memory_gb} GB of memory; this machine has {memory / GB:.1f} GB",
            fix=f"use a larger machine, or try anyway: {SKIP_CHECKS}=1 make ...",
        )


def memory_bytes(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """The machine's memory, or the container's limit where that is less."""
    total = re.search(r"^MemTotal:\s+(\d+) kB", (proc / "meminfo").read_text(), re.MULTILINE)
    assert total, "every Linux has MemTotal"
    limits = [int(total[1]) * 1024]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        path = cgroup / name
        if path.is_file() and (text := path.read_text().strip()).isdigit():
            limits.append(int(text))
    return min(limits)


def check_disk(folder: Path, needed_gb: float) -> None:
    """Raises SetupError when the file system that `folder` is or will be on has too little room."""
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(existing).free / GB
    if free < needed_gb:
        raise SetupError(
            f"the install needs {needed_gb} GB of free disk space; {existing} has {free:.1f} GB",
            fix=f"make room, or move VENV or UV_CACHE_DIR, or try anyway: {SKIP_CHECKS}=1 make ...",
        )


@contextmanager
def only_one(root: Path) -> Iterator[None]:
    """Makes a second setup of a tree wait for the first, and for what a killed one started."""
    handle = os.open(root, os.O_RDONLY)
    os.set_inheritable(handle, True)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("waiting for another setup of this tree ...")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    parser.add_argument("--dev", action="store_true", help="with what `make test` needs")
    arguments = parser.parse_args()
    _leave_virtual_environment()
    layout = Layout(ROOT, arguments.venv.resolve(), Row.read(ROOT))
    start = time.monotonic()
    try:
        with only_one(ROOT):
            if Setup(layout, os.environ).ensure(arguments.dev):
                _say(f"ready after {time.monotonic() - start:.0f} s: {layout.venv}")
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("interrupted; run again to go on: what was downloaded is kept", file=sys.stderr)
        return 130
    return 0


def _leave_virtual_environment() -> None:
    """Starts again under the base Python: the environment this runs in may have to be replaced."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    base = Path(sys.base_prefix) / "bin" / name
    if sys.prefix != sys.base_prefix and base.exists():
        os.execv(base, [str(base), *sys.argv])  # noqa: S606  (no shell is what is wanted)


if __name__ == "__main__":
    sys.exit(main())
