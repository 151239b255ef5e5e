"""Did every engine open the transport that the spec asks for, and no other?"""

from collections.abc import Sequence

from rayspan.verify.engine_log import EngineTransport
from rayspan.verify.split import COLOCATED
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, Evidence, inconclusive, judge, skip

NAME = "transport"
_WITHIN_A_GPU = ("cuda_copy",)  # between a GPU's memory and the host's, on the way to the wire
BACKENDS = {"ucx": "UCX", "tcp": "UCX", "efa": "LIBFABRIC"}


def check_transport(target: Target, engines: Sequence[EngineTransport]) -> Check:
    """One engine process a tensor rank, in both pools. For `tcp`, what UCX chose is as much part of
    the answer as the backend.
    """
    if not target.split:
        return skip(NAME, COLOCATED)
    evidence = [_backend(target.transport, engine) for engine in engines]
    if target.transport == "tcp":
        evidence += [_lanes(engine) for engine in engines if engine.lanes]
    if any(not item.holds for item in evidence):
        return judge(NAME, "", evidence)
    for role, pool in target.spec.pools().items():
        wanted = pool.replicas * pool.devices
        found = sum(engine.role == role for engine in engines)
        if found < wanted:
            reason = f"{found} of {wanted} {role} engine processes said which transport they opened"
            return inconclusive(NAME, reason, evidence)
    if target.transport == "tcp" and (silent := [e for e in engines if not e.lanes]):
        reason = f"{len(silent)} engine processes did not say which UCX transports they use"
        return inconclusive(NAME, reason, evidence)
    return judge(
        NAME, f"{_named(target.transport)} in all {len(engines)} engine processes", evidence
    )


def _backend(transport: str, engine: EngineTransport) -> Evidence:
    opened = " + ".join(engine.backends)
    wanted = BACKENDS[transport]
    return Evidence(f"NIXL backend of {_who(engine)}", opened, wanted, opened == wanted)


def _lanes(engine: EngineTransport) -> Evidence:
    used = " + ".join(engine.lanes)
    holds = "tcp" in engine.lanes and set(engine.lanes) <= {"tcp", *_WITHIN_A_GPU}
    return Evidence(f"UCX transports of {_who(engine)}", used, "tcp", holds)


def _who(engine: EngineTransport) -> str:
    return f"{engine.role} {engine.replica} (process {engine.pid})"


def _named(transport: str) -> str:
    return "UCX over TCP alone" if transport == "tcp" else BACKENDS[transport]
