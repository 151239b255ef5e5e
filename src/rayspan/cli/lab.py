"""`rayspan lab ...`"""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from rayspan.adapters import processes
from rayspan.cli import lab_up
from rayspan.cli.output import print_json
from rayspan.lab import faults
from rayspan.lab.down import lab_down
from rayspan.lab.host import run_in_host
from rayspan.lab.state import current_lab
from rayspan.lab.status import read_hosts

app = typer.Typer(help="Several hosts on this machine, joined by a network.", no_args_is_help=True)
app.command("up")(lab_up.command)

Host = Annotated[str, typer.Argument(help="A host's name, as `rayspan lab status` shows it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command()
def down(as_json: AsJson = False) -> None:
    """End the lab: hosts, network, and what a killed one left."""
    removed = lab_down()
    if as_json:
        print_json(removed)
    elif removed.nothing_was_up:
        print("no lab was up")
    else:
        print(f"down: {removed.hosts} hosts, {', '.join(removed.network) or 'no network'}")


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show the hosts: address, pools, Ray node, memory, links that are cut."""
    hosts = read_hosts(*current_lab())
    if as_json:
        print_json(hosts)
        return
    table = Table(box=None)
    for heading in ("HOST", "ADDRESS", "REPLICAS", "STATE", "MEMORY", "CUT FROM"):
        table.add_column(heading, overflow="fold")
    for host in hosts:
        memory = f"{host.memory_bytes / 2**30:.2f} GiB"
        pools = " ".join(f"{count} {role}" for role, count in host.roles.items()) or "-"
        cut = " ".join(host.cut_from) or "-"
        table.add_row(host.name, host.address, pools, host.state, memory, cut)
    Console().print(table)


@app.command()
def cut(one: Host, other: Host) -> None:
    """Lose everything that two hosts send each other, silently."""
    faults.cut(one, other)
    print(f"cut: {one} and {other}")


@app.command()
def heal(one: Host, other: Host) -> None:
    """Mend the link between two hosts."""
    faults.heal(one, other)
    print(f"healed: {one} and {other}")


@app.command()
def kill(host: Host) -> None:
    """End a whole host at once, as a power cut does."""
    faults.kill(host)
    print(f"killed: {host}")


@app.command()
def drain(
    host: Host,
    within: Annotated[int, typer.Option(min=1, help="Seconds until it will go.")] = 30,
) -> None:
    """Tell Ray that a host will go, so that Serve moves its replicas where there is room."""
    faults.drain(host, within)
    print(f"draining: {host}")


@app.command("return")
def give_back(host: Host) -> None:
    """Start a killed host again, under its address."""
    faults.give_back(host)
    print(f"returned: {host}")


@app.command("exec", context_settings={"ignore_unknown_options": True})
def run(host: Host, words: Annotated[list[str], typer.Argument(metavar="COMMAND...")]) -> None:
    """Run a command in a host's namespaces."""
    lab, _deployment = current_lab()
    lab.layout.host(host)
    if lab.options.isolation == "none":
        raise typer.Exit(processes.run_attached(words))
    raise typer.Exit(run_in_host(lab.pids[host], words))
