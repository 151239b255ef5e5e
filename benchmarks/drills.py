"""What plain Ray Serve LLM does in each drill, and what rayspan does. Needs root.

    sudo .venv/bin/python benchmarks/drills.py [--out docs/results/drills.jsonl] [--table]

Both arms run the built-in spec on the hosts of a lab, one prefill and one decode engine, with a KV
lease of ten seconds:

    upstream   `serving.server: upstream`: vLLM's own connector and scheduler
    rayspan    `serving.server: rayspan`: the guard, and a stream's end that says how it ended

Each drill is a record of its own in --out, so that a run that was broken off goes on where it was;
delete the file to begin again. A deployment that a drill left broken is started anew. `--table`
prints the records as they are, and plays nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rayspan.spec
from rayspan.drill import DRILLS
from rayspan.local.run_folder import VARIABLE

BIN = Path(sys.executable).with_name("rayspan")
BUILTIN = Path(rayspan.spec.__file__).with_name("builtin.yaml")
ARMS = ("upstream", "rayspan")
LEASE_S = 10
_TIMEOUT_S = 1200.0
Record = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("docs/results/drills.jsonl"))
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    records = read(arguments.out)
    if not arguments.table:
        for record in play(records):
            records.append(record)
            with arguments.out.open("a") as out:
                out.write(json.dumps(record) + "\n")
    print("\n".join(table(records)))


def read(path: Path) -> list[Record]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def play(known: list[Record]) -> Iterator[Record]:
    """The records that are missing."""
    done = {(record["arm"], record["drill"]) for record in known}
    with tempfile.TemporaryDirectory(prefix="rsd-", dir="/tmp") as folder:
        for arm in ARMS:
            lab = Lab(Path(folder) / "run", arm)
            try:
                for drill in DRILLS:
                    if (arm, drill.name) not in done:
                        yield {"arm": arm, "lease_s": LEASE_S, **lab.play(drill.name)}
            finally:
                lab.down()


class Lab:
    """Up when the first drill is played, and again after one that left it broken."""

    def __init__(self, run_folder: Path, arm: str) -> None:
        self._env = {**os.environ, VARIABLE: str(run_folder), "HF_HUB_OFFLINE": "1"}
        self._spec, self._up = run_folder.with_name(f"{arm}.yaml"), False
        self._spec.write_text(
            BUILTIN.read_text().replace(
                "  kind: prefill-decode\n",
                f"  kind: prefill-decode\n  server: {arm}\n  kv_lease_s: {LEASE_S}\n",
            )
        )

    def play(self, drill: str) -> Record:
        if not self._up:
            self._run("lab", "up", "--detach", str(self._spec)).check_returncode()
            self._up = True
        print(f"{self._spec.stem}: {drill}", file=sys.stderr)
        done = self._run("drill", drill, "--json")
        try:
            (result,) = json.loads(done.stdout)
        except ValueError:
            sys.exit(done.stderr)
        if result["recover_s"] is None:
            self.down()
        record: Record = result
        return record

    def down(self) -> None:
        self._run("lab", "down")
        self._up = False

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN, *arguments],
            env=self._env,
            stdout=subprocess.PIPE,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )


def table(records: list[Record]) -> Iterator[str]:
    """Markdown; for each arm the verdict, what clients got, and the seconds to recover."""
    yield "| drill | " + " | ".join(f"{arm} | clients | s" for arm in ARMS) + " |"
    yield "|---" * (1 + 3 * len(ARMS)) + "|"
    for drill in DRILLS:
        cells = [cell for arm in ARMS for cell in _cells(records, arm, drill.name)]
        yield f"| {drill.name} | " + " | ".join(cells) + " |"


def _cells(records: list[Record], arm: str, drill: str) -> tuple[str, str, str]:
    found = [record for record in records if (record["arm"], record["drill"]) == (arm, drill)]
    if not found:
        return "-", "-", "-"
    one = found[-1]
    clients = ", ".join(f"{number} {kind}" for kind, number in one["clients"].items())
    recover = "-" if one["recover_s"] is None else f"{one['recover_s']:.0f}"
    return one["verdict"], clients, recover


if __name__ == "__main__":
    main()
