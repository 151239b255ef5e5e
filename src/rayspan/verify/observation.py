"""Sends probes to a deployment and keeps what its metrics said before, after, and once drained."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rayspan.adapters.metrics import Scrape
from rayspan.verify.probes import Answer, Probe, ask, make_probes
from rayspan.verify.reader import KV_IN_USE, LAG_S, POLL_S, Reader, all_finished
from rayspan.verify.roster import Roster
from rayspan.verify.target import Deployed, Target
from rayspan.verify.wire_window import WireWindow, measure

RUNNING = "ray_vllm_num_requests_running"
_GAUGE_S = 3.0
_DRAIN_MARGIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Observation:
    """`answers` in the order of the probes; `kv_held` is the share of KV in use at rest at the end,
    by replica, for those replicas that were seen at all; `gauged` those that told of running
    requests. `wire` is what the nodes' devices counted, or why nobody looked."""

    before: Scrape
    after: Scrape
    drained: Scrape
    answers: tuple[Answer, ...]
    kv_held: Mapping[str, float]
    others_running: float = 0.0
    gauged: frozenset[str] = frozenset()
    wire: WireWindow | str = "not asked for"

    @property
    def answered(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if not answer.error)

    def grown(self, name: str, role: str, **labels: str) -> float:
        """By how much a counter grew while the probes ran; an absent one is at zero."""
        return self.after.total(name, role, **labels) - self.before.total(name, role, **labels)

    def grown_until_drained(self, name: str, role: str) -> dict[str, float]:
        """By replica, for those where it grew at all."""
        start = self.before.by_replica(name, role)
        ended = self.drained.by_replica(name, role)
        growth = {replica: value - start.get(replica, 0.0) for replica, value in ended.items()}
        return {replica: value for replica, value in growth.items() if value}


def observe(
    deployed: Deployed,
    target: Target,
    probes: Sequence[Probe],
    drain: bool,
    roster: Roster | None = None,
) -> Observation:
    """Runs the probes one after the other. Without `drain`, `kv_held` stays empty; without a
    `roster`, nobody looks at the wire.
    """
    read = Reader(deployed)
    before = read.settled()

    def work() -> tuple[Answer, ...]:
        return tuple(ask(deployed.api_base, target.spec.model.id, probe) for probe in probes)

    answers, wire = measure(deployed, roster, work) if roster else (work(), "not asked for")
    after = read.until(lambda now: all_finished(before, now, target, len(probes)), LAG_S)
    if not drain:
        return Observation(before, after, after, answers, {}, wire=wire)
    held, gauged, running = _drain(read, deployed, target)
    return Observation(before, after, read.settled(), answers, held, running, gauged, wire)


def _drain(
    read: Reader, deployed: Deployed, target: Target
) -> tuple[dict[str, float], frozenset[str], float]:
    """Waits until no KV is held at rest, at most for the lease that bounds it.

    The gauge is reported only while an engine works, so each look follows a one-token request: what
    is reported after it ended is what is held at rest.
    """
    deadline = time.monotonic() + target.lease_s + _DRAIN_MARGIN_S
    vocabulary = target.shape.vocabulary if target.shape else 1000
    held: dict[str, float] = {}
    gauged: frozenset[str] = frozenset()
    round_number = 0
    while True:
        replicas = sum(pool.replicas for pool in target.spec.pools().values())
        for probe in make_probes([1] * 2 * replicas, vocabulary, seed=round_number):
            ask(deployed.api_base, target.spec.model.id, probe, new_tokens=1)
        seen, told, running = _watch_gauges(read, target)
        held |= seen
        gauged |= told
        round_number += 1
        complete = len(held) >= replicas
        if (complete and not any(held.values())) or time.monotonic() > deadline:
            return held, gauged, running


def _watch_gauges(read: Reader, target: Target) -> tuple[dict[str, float], set[str], float]:
    """The last value each replica reported within the gauge's life, who told of running requests,
    and how many still run."""
    held: dict[str, float] = {}
    told: set[str] = set()
    running = 0.0
    deadline = time.monotonic() + _GAUGE_S
    while time.monotonic() < deadline:
        now = read.now()
        counts = [now.by_replica(RUNNING, role) for role in target.spec.pools()]
        for role in target.spec.pools():
            held |= now.by_replica(KV_IN_USE, role)
        told.update(*counts)
        running = sum(sum(count.values()) for count in counts)
        time.sleep(POLL_S)
    return held, told, running
