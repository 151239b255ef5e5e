"""Over which network do the processes of one engine talk, where they are on several nodes?"""

import re
from collections.abc import Sequence

from rayspan.verify.engine_log import ReplicaLog
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, Evidence, inconclusive, judge, skip

NAME = "nccl"
_NODES = re.compile(r"NCCL INFO comm .* nNodes (\d+)")
_NETWORK = re.compile(r"NCCL INFO .*\bvia NET/([\w ]+)/\d+(/GDRDMA)?")
_SOCKET = "Socket"


def check_nccl(target: Target, nodes: int, logs: Sequence[ReplicaLog]) -> Check:
    """Read from what NCCL says with NCCL_DEBUG=INFO. Only EFA makes a demand on it."""
    widest = max(pool.devices for pool in target.spec.pools().values())
    if widest == 1 or nodes == 1:
        return skip(NAME, "every engine is on one node")
    texts = {log.replica: log.text for log in logs}
    spans = {r: t for r, t in texts.items() if any(int(n) > 1 for n in _NODES.findall(t))}
    if not any(_NODES.search(text) for text in texts.values()):
        return inconclusive(NAME, "no engine told of NCCL: set NCCL_DEBUG=INFO in its environment")
    if not spans:
        return skip(NAME, "every engine is on one node")
    evidence = [_network(target, replica, text) for replica, text in sorted(spans.items())]
    return judge(NAME, "; ".join(f"{e.where}: {e.observed}" for e in evidence), evidence)


def _network(target: Target, replica: str, text: str) -> Evidence:
    used = sorted({name + direct for name, direct in _NETWORK.findall(text)})
    wanted = f"no {_SOCKET}" if target.transport == "efa" else "any"
    holds = bool(used) and (target.transport != "efa" or _SOCKET not in used)
    return Evidence(f"NCCL networks of {replica}", " + ".join(used) or "none", wanted, holds)
