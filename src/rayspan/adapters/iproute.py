"""The door to iproute2: network namespaces, links and queues of this machine."""

import json
import shutil
import subprocess
from typing import Any

from rayspan.errors import WorldError


def check_installed() -> None:
    """Raises WorldError naming the first tool that is missing."""
    for tool, package in (("ip", "iproute2"), ("tc", "iproute2"), ("unshare", "util-linux")):
        if shutil.which(tool) is None:
            raise WorldError(
                f"`{tool}` is not installed", fix=f"install {package} (apt install {package})"
            )


def ip(*arguments: str) -> str:
    """Output of `ip` with `arguments`. Raises WorldError with its own words when it refuses."""
    return _run("ip", *arguments)


def tc(*arguments: str) -> str:
    """As `ip`, for `tc`."""
    return _run("tc", *arguments)


def ip_json(*arguments: str) -> list[dict[str, Any]]:
    """The objects that `ip -json` prints; none when it prints nothing."""
    text = _run("ip", "-json", *arguments)
    objects: list[dict[str, Any]] = json.loads(text or "[]")
    return [found for found in objects if found]


def namespaces() -> list[str]:
    """Names of the network namespaces that `ip netns` knows."""
    return [found["name"] for found in ip_json("netns", "list")]


def succeeds(*arguments: str) -> bool:
    """Whether `ip` with `arguments` does what it is told."""
    try:
        ip(*arguments)
    except WorldError:
        return False
    return True


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (our own words)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise WorldError(f"`{' '.join(command)}` failed: {said[-1]}")
    return done.stdout
