"""One of two NIXL agents: `source` offers host memory, `reader` reads it. A process each.

    python -m tests.by_hand.nixl_agents source|reader BACKEND FOLDER

They meet in FOLDER. The reader prints one JSON object for each of its reads.
"""

import json
import pickle
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from nixl._api import nixl_agent, nixl_agent_config

SIZE = 64 * 2**20
READS = 5
_SEED = 11
_POLL_S = 0.02


def main() -> None:
    role, backend, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    agent = nixl_agent(role, nixl_agent_config(backends=[backend]))
    memory = np.zeros(SIZE, dtype=np.uint8)
    wanted = np.random.default_rng(_SEED).integers(0, 256, SIZE, dtype=np.uint8)
    region = (memory.ctypes.data, SIZE, 0)
    agent.register_memory(agent.get_reg_descs([(*region, "")], "DRAM"), backends=[backend])
    if role == "source":
        memory[:] = wanted
        offer(agent, region, folder)
    else:
        read(agent, backend, region, Memory(memory, wanted), folder)


def offer(agent: Any, region: tuple[int, int, int], folder: Path) -> None:
    """Says where its memory is, and stays until the reader is through."""
    partial = folder / "offer.partial"
    partial.write_bytes(pickle.dumps((agent.get_agent_metadata(), region)))
    partial.rename(folder / "offer")
    while not (folder / "end").exists():
        agent.get_new_notifs()
        time.sleep(_POLL_S)


@dataclass(frozen=True, slots=True)
class Memory:
    """Where a read arrives, and what must then stand there."""

    now: Any
    wanted: Any


def read(
    agent: Any, backend: str, region: tuple[int, int, int], memory: Memory, folder: Path
) -> None:
    while not (folder / "offer").exists():
        time.sleep(_POLL_S)
    metadata, offered = pickle.loads((folder / "offer").read_bytes())
    peer = agent.add_remote_agent(metadata)
    here, there = (agent.get_xfer_descs([at], "DRAM") for at in (region, offered))
    handle = agent.initialize_xfer("READ", here, there, peer, b"read", backends=[backend])
    for _ in range(READS):
        memory.now[:] = 0
        began = time.monotonic()
        state = agent.transfer(handle)
        while state == "PROC":
            state = agent.check_xfer_state(handle)
        seconds = time.monotonic() - began
        right = bool((memory.now == memory.wanted).all())
        result = {"state": state, "right": right, "mib_per_s": round(SIZE / 2**20 / seconds)}
        print(json.dumps(result), flush=True)
    (folder / "end").touch()


if __name__ == "__main__":
    main()
