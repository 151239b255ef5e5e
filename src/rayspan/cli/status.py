"""`rayspan status`"""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from rayspan.cli.output import print_json
from rayspan.local.status import Replica, Status, current_deployment, read_status
from rayspan.verify import kv_in_use

_FIRST_EPHEMERAL_PORT = 32768


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show pools, replicas, their state, ports, memory and KV cache in use."""
    deployment = current_deployment()
    status = read_status(deployment, kv_in_use(deployment.metrics_urls))
    if as_json:
        print_json(status)
        return
    print(f"{status.name}: {status.app_state} at {status.api_base} {status.message}".rstrip())
    Console().print(_table(status))
    print(f"memory of all its processes: {status.memory_bytes / 2**30:.1f} GiB")


def _table(status: Status) -> Table:
    table = Table(box=None)
    for heading in ("POOL", "REPLICA", "STATE", "NODE", "PIDS", "PORTS", "MEMORY", "KV IN USE"):
        table.add_column(heading, overflow="fold")
    for replica in status.replicas:
        table.add_row(*_cells(replica))
    return table


def _cells(replica: Replica) -> tuple[str, ...]:
    known = [port for port in replica.ports if port < _FIRST_EPHEMERAL_PORT]
    return (
        replica.role,
        replica.replica,
        replica.state,
        replica.node or "-",
        " ".join(map(str, replica.pids)),
        " ".join(map(str, known)) or "-",
        f"{replica.memory_bytes / 2**30:.2f} GiB",
        "-" if replica.kv_used is None else f"{replica.kv_used:.1%}",
    )
