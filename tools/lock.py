"""Turns the rows of `lock.toml` into hashed requirement files, without the name of any registry.

    .venv/bin/python tools/lock.py             resolve again, keeping what is pinned now
    .venv/bin/python tools/lock.py --upgrade   resolve again, taking what is newest
    .venv/bin/python tools/lock.py --check     only say whether the files fit lock.toml (no network)

uv's own lock file names the host of every wheel, a requirements file does not. A file made here
holds the hashes of the wheels that fit Linux on x86-64 and the row's Pythons, and of no source
archive, so an install neither compiles nor runs a package's code.
"""

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from rayspan.stack.row import Row, all_rows, default_row

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "src/rayspan/stack/requirements"
# What PyTorch's CPU builds do without or bring themselves, so that they can stand in for this file.
TORCH_FAMILY = re.compile(r"torch|torchaudio|torchvision|(nvidia|cuda)-.*")
_MACHINE = {"sys_platform": "linux", "platform_machine": "x86_64", "implementation_name": "cpython"}
_ENTRY = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\]+?))? \\$")
_HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")


@dataclass(frozen=True, slots=True)
class Target:
    """One resolution, and the names of the files that its result goes to."""

    name: str
    requirements: tuple[str, ...]
    left_out: tuple[str, ...]
    python: tuple[str, ...]
    glibc: str
    beside: tuple[str, ...] = ()  # files whose pins it must agree with
    torch_apart: bool = False
    only_new: bool = False  # without the packages of the files beside it

    def files(self) -> tuple[str, ...]:
        return (self.name, f"{self.name}-torch") if self.torch_apart else (self.name,)

    def digest(self) -> str:
        """Changes with what is asked for, so that a stale file can be told without resolving."""
        asked = (self.requirements, self.left_out, self.python, self.glibc)
        return hashlib.sha256(repr(asked).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    size: int  # of the largest wheel that fits

    def pin(self) -> str:
        return f"{self.name}=={self.version}" + (f" ; {self.marker}" if self.marker else "")

    def text(self) -> str:
        return " \\\n".join([self.pin(), *(f"    --hash=sha256:{each}" for each in self.hashes)])


def targets() -> list[Target]:
    """A target for each row, then what installs a row, then what tests it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    own = tuple(project["project"]["dependencies"])
    groups = project["dependency-groups"]
    rows = [_row_target(row, own) for row in all_rows()]
    cpu = default_row("cpu")
    beside = next(each for each in rows if each.name == cpu.id).files()
    install = Target("install", tuple(groups["install"]), (), cpu.python, cpu.glibc, beside)
    dev = Target(
        "dev", tuple(groups["dev"]), (), cpu.python, cpu.glibc, (*beside, "install"), only_new=True
    )
    return [*rows, install, dev]


def _row_target(row: Row, own: tuple[str, ...]) -> Target:
    asked = tuple(each.requirement() for each in row.packages)
    left_out = tuple(each.name for each in row.leave_out)
    return Target(
        row.id, asked + own, left_out, row.python, row.glibc, torch_apart=row.device == "cpu"
    )


def resolve(target: Target, constraints: Sequence[str]) -> list[Entry]:
    """Asks uv, which asks the registry that the user has configured."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _write_inputs(work, target, constraints)
        command = [
            *(str(Path(sys.executable).with_name("uv")), "pip", "compile", "requirements.in"),
            *("--universal", "--python-version", target.python[0]),
            *("--override", "overrides.txt", "--constraint", "constraints.txt"),
            *("--format", "pylock.toml", "--output-file", "pylock.toml", "--quiet"),
        ]
        subprocess.run(command, cwd=work, check=True)
        lock = tomllib.loads((work / "pylock.toml").read_text())
    entries = [_entry(package, target) for package in lock["packages"]]
    return [entry for entry in entries if entry]


def _write_inputs(work: Path, target: Target, constraints: Sequence[str]) -> None:
    """An override drops the asked version where two packages ask for different ones."""
    pins = [each for each in target.requirements if "==" in each and "[" not in each]
    never = [f'{name} ; sys_platform == "never"' for name in target.left_out]
    machine = " and ".join(f"{name} == '{value}'" for name, value in _MACHINE.items())
    after = f"3.{int(target.python[-1].partition('.')[2]) + 1}"
    (work / "requirements.in").write_text("\n".join(target.requirements))
    (work / "overrides.txt").write_text("\n".join([*pins, *never]))
    (work / "constraints.txt").write_text("\n".join(constraints))
    (work / "pyproject.toml").write_text(
        f'[project]\nname = "lock"\nversion = "0"\n'
        f'requires-python = ">={target.python[0]},<{after}"\n'
        f"[tool.uv]\nenvironments = [\"{machine} and python_full_version < '{after}'\"]\n"
    )


def _entry(package: Mapping[str, Any], target: Target) -> Entry | None:
    """The entry of one package of a pylock file; None when no supported Python needs it."""
    marker = package.get("marker", "")
    pythons = [each for each in target.python if _applies(marker, each)]
    if not pythons:
        return None
    hashes: dict[str, int] = {}
    for python in pythons:
        fitting = _fitting_wheels(package, python, target.glibc)
        if not fitting:
            needs = f"Python {python} and glibc {target.glibc}"
            raise SystemExit(f"{package['name']} {package['version']} has no wheel for {needs}")
        hashes |= fitting
    return Entry(
        name=canonicalize_name(package["name"]),
        version=package["version"],
        marker="" if len(pythons) == len(target.python) else _python_part(marker, target),
        hashes=tuple(sorted(hashes)),
        size=max(hashes.values()),
    )


def _applies(marker: str, python: str) -> bool:
    environment = {**_MACHINE, "python_version": python, "python_full_version": f"{python}.0"}
    return not marker or Marker(marker).evaluate(environment)


def _python_part(marker: str, target: Target) -> str:
    """The clauses about Python, if they alone say the same as the whole marker."""
    part = " and ".join(each for each in marker.split(" and ") if each.startswith("python_"))
    same = all(_applies(part, each) == _applies(marker, each) for each in target.python)
    return part if part and same else marker


def _fitting_wheels(package: Mapping[str, Any], python: str, glibc: str) -> dict[str, int]:
    """SHA-256 to size."""
    supported = set(_tags(python, glibc))
    found = {}
    for wheel in package.get("wheels", ()):
        name = wheel.get("name") or wheel["url"].rpartition("/")[2]
        if parse_wheel_filename(name)[3] & supported:
            found[wheel["hashes"]["sha256"]] = wheel["size"]
    return found


def _tags(python: str, glibc: str) -> Iterator[Tag]:
    major, minor = map(int, python.split("."))
    platforms = [f"manylinux_2_{each}_x86_64" for each in range(5, int(glibc.split(".")[1]) + 1)]
    platforms += ["manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64"]
    yield from cpython_tags((major, minor), platforms=platforms)
    yield from compatible_tags((major, minor), f"cp{major}{minor}", platforms)


def write(target: Target, entries: Sequence[Entry]) -> None:
    """Writes the target's files, each whole or not at all."""
    rest = [entry for entry in entries if not target.torch_apart or not _is_torch(entry)]
    torch = [entry for entry in entries if target.torch_apart and _is_torch(entry)]
    for name, part in zip(target.files(), (rest, torch), strict=False):
        pythons = f"Python {target.python[0]} to {target.python[-1]}"
        size = round(sum(entry.size for entry in part) / 1e6)
        lines = [
            f"# Made by tools/lock.py. Wheels for Linux x86-64, glibc {target.glibc}, {pythons};",
            f"# {size} MB to download. asked: {target.digest()}",
            *(entry.text() for entry in part),
        ]
        partial = FOLDER / f"{name}.partial"
        partial.write_text("\n".join(lines) + "\n")
        partial.rename(FOLDER / f"{name}.txt")
        print(f"{name}.txt: {len(part)} packages, {size} MB to download")


def _is_torch(entry: Entry) -> bool:
    return TORCH_FAMILY.fullmatch(entry.name) is not None


def pins_in(text: str) -> dict[str, str]:
    """Name to pin, marker and all, of a requirement file's entries."""
    matches = [_ENTRY.match(line) for line in text.splitlines()]
    found: dict[str, str] = {}
    for match in filter(None, matches):
        pin = match[0].removesuffix(" \\")
        found[match["name"]] = "\n".join(filter(None, [found.get(match["name"]), pin]))
    return found


def faults(text: str, target: Target) -> list[str]:
    """What is wrong with a requirement file, as far as can be told without a registry."""
    found = [] if f"asked: {target.digest()}" in text else ["does not fit what is asked for now"]
    previous_is_entry = False
    for number, line in enumerate(text.splitlines(), 1):
        is_entry = _ENTRY.match(line) is not None
        if not (line.startswith("#") or is_entry or _HASH.match(line)):
            found.append(f"line {number}: neither a hashed entry nor a hash: {line[:80]}")
        if previous_is_entry and not _HASH.match(line):
            found.append(f"line {number - 1}: no hash")
        previous_is_entry = is_entry
    names = pins_in(text)
    return found + [f"{name} should be left out" for name in target.left_out if name in names]


def check(all_targets: Sequence[Target]) -> list[str]:
    """The faults of all files, and those that are missing or that nothing makes."""
    wanted = {name: target for target in all_targets for name in target.files()}
    have = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.txt"))}
    found = [f"{name}.txt: missing" for name in sorted(wanted.keys() - have.keys())]
    found += [f"{name}.txt: made by no row" for name in sorted(have.keys() - wanted.keys())]
    for name in sorted(wanted.keys() & have.keys()):
        found += [f"{name}.txt: {fault}" for fault in faults(have[name], wanted[name])]
    return found


def lock(target: Target, upgrade: bool, extra: Sequence[str]) -> None:
    own = () if upgrade else target.files()
    pins = [pin for name in (*target.beside, *own) for pin in _read_pins(name).values()]
    entries = resolve(target, [*pins, *extra])
    known = {name for each in target.beside for name in _read_pins(each)}
    write(target, [each for each in entries if not (target.only_new and each.name in known)])


def _read_pins(name: str) -> dict[str, str]:
    path = FOLDER / f"{name}.txt"
    return pins_in(path.read_text()) if path.exists() else {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="row ids, or install or dev; all when left out")
    parser.add_argument(
        "--check", action="store_true", help="only check the files, without a registry"
    )
    parser.add_argument("--upgrade", action="store_true", help="do not keep the pins of now")
    parser.add_argument("--constraint", type=Path, help="a file of further constraints")
    arguments = parser.parse_args()
    if arguments.check:
        found = check(targets())
        print("\n".join(found) or "the requirement files fit lock.toml")
        return 1 if found else 0
    extra = arguments.constraint.read_text().splitlines() if arguments.constraint else []
    for target in targets():
        if not arguments.names or target.name in arguments.names:
            lock(target, arguments.upgrade, extra)
    return 0


if __name__ == "__main__":
    sys.exit(main())
