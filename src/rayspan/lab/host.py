"""One host of a lab: a process tree with a network, and with `full` isolation an IPC and PID
namespace and a /dev/shm of its own.

Inside, the host's folder lies over the run folder, so that the same paths hold on every host: the
stand-in that Ray starts workers with is one path in the Serve configuration of all nodes.
"""

import json
import shlex
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rayspan.adapters import processes
from rayspan.errors import WorldError
from rayspan.lab.layout import HostPlan, Isolation
from rayspan.lab.state import host_folder
from rayspan.local.cluster import root_command
from rayspan.local.head import HEAD, SETTINGS

NODE: Final = "rayspan.lab.node"
_APART: Final = (
    *("unshare", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"),
    *("--propagation", "private"),
)
_START_S = 10.0


def start_host(
    folder: Path, plan: HostPlan, isolation: Isolation, env: dict[str, str], settings: Any
) -> int:
    """Starts the host's first process over a fresh folder; the pid a whole host ends with."""
    own = host_folder(folder, plan.name)
    own.mkdir(mode=0o700, parents=True)
    (own / SETTINGS).write_text(json.dumps(settings))
    seen = own if isolation == "none" else folder
    command = root_command(seen, HEAD if plan.is_head else NODE, preload=isolation != "none")
    if isolation != "none":
        command = [*_wrapping(folder, own, plan, isolation), *command]
    pid = processes.start_detached(command, env, own / "root.log")
    return _first_inside(pid, own) if isolation == "full" else pid


def _wrapping(folder: Path, own: Path, plan: HostPlan, isolation: Isolation) -> list[str]:
    """What puts a command into the host's namespaces; `ip netns exec` brings a mount namespace."""
    inside = f'mount --bind {shlex.quote(str(own))} {shlex.quote(str(folder))} && cd / && exec "$@"'
    if isolation == "full":
        inside = f"mount -t tmpfs -o mode=1777 rayspan-shm /dev/shm && {inside}"
    apart = _APART if isolation == "full" else ()
    ip = shutil.which("ip") or "/sbin/ip"
    return [ip, "netns", "exec", plan.namespace, *apart, "sh", "-c", inside, "rayspan-host"]


def _first_inside(pid: int, own: Path) -> int:
    """The first process of the PID namespace that `unshare`, running as `pid`, made: when it ends,
    all in the host end."""
    deadline = time.monotonic() + _START_S
    while not (inside := processes.children(pid)):
        if not processes.is_alive(pid):
            words = (own / "root.log").read_text(errors="replace").strip().splitlines()
            raise WorldError(f"a host did not start: {words[-1] if words else 'it said nothing'}")
        if time.monotonic() > deadline:
            raise WorldError(f"a host did not start within {_START_S:.0f} s")
        time.sleep(0.02)
    return inside[0]


def run_in_host(pid: int, command: Sequence[str]) -> int:
    """Runs `command` in the namespaces of the host that `pid` holds, at this terminal; its exit
    status."""
    return processes.run_attached(["nsenter", "--all", f"--target={pid}", "--", *command])
