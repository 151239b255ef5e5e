"""What each engine must have said in its log, and what none may say.

"NIXL is available" is in no engine's log on this stack row: it is said where nobody listens. Only
the side that reads compares itself with the other, and plans the transfer.
"""

from collections.abc import Iterator, Sequence

from rayspan.verify.engine_log import ReplicaLog
from rayspan.verify.roster import Roster
from rayspan.verify.split import COLOCATED
from rayspan.verify.target import Target
from rayspan.verify.transport import BACKENDS
from rayspan.verify.verdict import Check, Evidence, inconclusive, judge, skip

NAME = "logs"
_READER_MUSTS = ("NIXL compatibility check passed", "Transfer plan:")
# How an engine was set up: said once, wrong for good.
_SETTINGS = (
    "Amazon EFA(s) were detected",
    "Skipping backend registration",
    "Unknown vLLM environment variable",
    "Turning off hybrid kv cache manager",
)
# What happened to a request: looked for from the first probe on. Before, a client may have left.
_EVENTS = (
    "NIXL transfer failure",
    "Potentially invalid KV blocks",
    "Releasing expired KV",
    "Got invalid KVTransferParams",
    "Recovered from KV load failure",
)


def check_logs(target: Target, roster: Roster, logs: Sequence[ReplicaLog]) -> Check:
    """Every engine process of both pools."""
    if not target.split:
        return skip(NAME, COLOCATED)
    if not roster.members:
        return inconclusive(NAME, "Serve did not say which engines there are")
    by_replica = {log.replica: log for log in logs if log.has_workers}
    evidence: list[Evidence] = []
    for member in roster.members:
        if log := by_replica.get(member.replica):
            evidence += _musts(target, str(member), log)
            evidence += _must_nots(str(member), log)
    silent = [str(m) for m in roster.members if m.replica not in by_replica]
    if silent and all(item.holds for item in evidence):
        return inconclusive(NAME, f"no engine's log of {'; '.join(silent)}", evidence)
    number = len(roster.members)
    return judge(NAME, f"{number} engines said what they must, and nothing they must not", evidence)


def _musts(target: Target, who: str, log: ReplicaLog) -> Iterator[Evidence]:
    words = [f"Backend {BACKENDS[target.transport]} was instantiated"]
    if log.role == "decode":
        words += _READER_MUSTS
    ranks = next(p for role, p in target.spec.pools().items() if role == log.role).devices
    for word in words:
        said = log.processes_saying(word)
        where = f'processes of {who} that said "{word}"'
        yield Evidence(where, len(said), f"{ranks} or more", holds=len(said) >= ranks)


def _must_nots(who: str, log: ReplicaLog) -> Iterator[Evidence]:
    for text, words in ((log.text, _SETTINGS), (log.fresh, _EVENTS)):
        for word in words:
            line = next((line for line in text.splitlines() if word in line), "")
            yield Evidence(f'log of {who}, "{word}"', line.strip()[:200], "", holds=not line)
