"""The lab's network: a bridge, a namespace and a cable for each host, queues, and cut links."""

import contextlib
import ipaddress
import os
from typing import Final

from rayspan.adapters import iproute
from rayspan.errors import WorldError
from rayspan.lab.layout import HostPlan, LabOptions, Layout

INTERFACE: Final = "eth0"
_PROBE: Final = "rayspan-probe"
# Nobody has this address: a bridge floods such frames, and every host drops them.
_NOBODY: Final = "02:00:00:00:de:ad"
_BURST: Final = "256kb"
_QUEUE_LATENCY: Final = "50ms"


def why_refused() -> str:
    """Why this machine cannot make network namespaces, or nothing when it can.

    Raises WorldError without root or without the tools.
    """
    if os.geteuid() != 0:
        raise WorldError(
            "a lab's hosts are namespaces, which only root may make",
            fix="run it with sudo, or `--isolation none` for plain processes on 127.0.0.x",
        )
    iproute.check_installed()
    try:
        iproute.ip("netns", "add", _PROBE)
    except WorldError as error:
        return error.message
    iproute.ip("netns", "delete", _PROBE)
    return ""


def leftovers(label: str) -> list[str]:
    """Namespaces and bridge of a lab, live or not, by name."""
    spaces = [name for name in iproute.namespaces() if name.startswith(f"{label}-")]
    return [*spaces, *([label] if iproute.succeeds("link", "show", label) else [])]


def check_free(subnet: str) -> None:
    """Raises WorldError when a network of this machine overlaps with `subnet`."""
    wanted = ipaddress.IPv4Network(subnet)
    for route in iproute.ip_json("-4", "route", "show", "table", "all"):
        name = route.get("dst", "default")
        with contextlib.suppress(ValueError):
            if wanted.overlaps(ipaddress.IPv4Network(name)):
                raise WorldError(
                    f"the address range {subnet} is in use here: {name} on {route.get('dev', '?')}",
                    fix="choose another with --subnet",
                )


def build(layout: Layout, options: LabOptions) -> None:
    """Bridge, namespaces and cables. Raises WorldError when the kernel refuses a part."""
    iproute.ip("link", "add", layout.bridge, "type", "bridge")
    iproute.ip("address", "add", f"{layout.gateway}/{layout.prefix}", "dev", layout.bridge)
    iproute.ip("link", "set", layout.bridge, "up")
    for host in layout.hosts:
        iproute.ip("netns", "add", host.namespace)
        plug_in(host, layout)
        shape(host, options)


def plug_in(host: HostPlan, layout: Layout) -> None:
    """A cable from the host's namespace to the bridge."""
    space, plug = host.namespace, host.plug
    iproute.ip("link", "add", plug, "type", "veth", "peer", "name", INTERFACE, "netns", space)
    iproute.ip("link", "set", plug, "master", layout.bridge, "up")
    iproute.ip("-n", space, "link", "set", "lo", "up")
    iproute.ip("-n", space, "address", "add", f"{host.address}/{layout.prefix}", "dev", INTERFACE)
    iproute.ip("-n", space, "link", "set", INTERFACE, "up")
    iproute.ip("-n", space, "route", "add", "default", "via", layout.gateway)


def shape(host: HostPlan, options: LabOptions) -> None:
    """What the host sends is slowed, delayed and lost as asked; what it receives was so at the
    sender. Raises WorldError when the kernel lacks the queue."""
    where = ("-n", host.namespace, "qdisc", "replace", "dev", INTERFACE, "root")
    rate = ("rate", options.bandwidth) if options.bandwidth else ()
    if options.latency_ms or options.loss:
        delay = ("delay", f"{options.latency_ms}ms") if options.latency_ms else ()
        loss = ("loss", f"{options.loss}%") if options.loss else ()
        _queue("netem", "latency or loss", *where, "netem", *delay, *loss, *rate)
    elif options.bandwidth:
        limits = ("burst", _BURST, "latency", _QUEUE_LATENCY)
        _queue("tbf", "bandwidth", *where, "tbf", *rate, *limits)


def _queue(kind: str, wish: str, *arguments: str) -> None:
    try:
        iproute.tc(*arguments)
    except WorldError as error:
        raise WorldError(
            f"this machine cannot limit {wish}: {error.message}",
            fix=f"leave it out, or check the value and that the kernel has sch_{kind}",
        ) from error


def cut(one: HostPlan, other: HostPlan) -> None:
    """Frames between two hosts get lost, both ways, as on a broken cable: nobody is told."""
    for here, there in ((one, other), (other, one)):
        neighbour = (there.address, "lladdr", _NOBODY, "dev", INTERFACE, "nud", "permanent")
        iproute.ip("-n", here.namespace, "neighbour", "replace", *neighbour)


def heal(one: HostPlan, other: HostPlan) -> None:
    for here, there in ((one, other), (other, one)):
        if is_cut(here, there):
            space = here.namespace
            iproute.ip("-n", space, "neighbour", "delete", there.address, "dev", INTERFACE)


def is_cut(here: HostPlan, there: HostPlan) -> bool:
    found = iproute.ip_json("-n", here.namespace, "neighbour", "show", there.address)
    return any(entry.get("lladdr") == _NOBODY for entry in found)


def members(name: str) -> list[int]:
    """Processes in a namespace."""
    return [int(pid) for pid in iproute.ip("netns", "pids", name).split()]


def remove(label: str) -> list[str]:
    """Removes every namespace and the bridge of a lab, whoever left them; their names."""
    found = leftovers(label)
    for name in found:
        kind = ("link",) if name == label else ("netns",)
        iproute.ip(*kind, "delete", name)
    return found
