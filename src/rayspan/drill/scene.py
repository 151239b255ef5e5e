"""What a drill works with: clients, prompts nobody has seen, and hands on the deployment."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rayspan.adapters import processes
from rayspan.adapters.metrics import Scrape
from rayspan.drill.crowd import Crowd
from rayspan.errors import WorldError
from rayspan.lab.state import Lab
from rayspan.local.run_folder import Deployment
from rayspan.local.status import Replica, read_status
from rayspan.plan.kv_bytes import Request, expect_kv_bytes
from rayspan.spec import Role
from rayspan.verify.probes import Probe, make_probes
from rayspan.verify.reader import FINISHED, Reader
from rayspan.verify.target import Target
from rayspan.verify.verdict import Evidence

_SHORT = 4  # blocks of a prompt: more than one must be read
_FEW = 4
_HANDSHAKE_S = 1.0  # less than the 5 s that decode waits for an answer
_PREFILL_S = 120.0
_FILLING = 0.75  # share of the longest context that a long prompt takes
_ENGINE_CHOICE = 2**30


@dataclass
class Scene:
    """One drill. `lab`: None where all runs on this machine alone. `began_s`: when the fault came,
    by the monotonic clock."""

    deployment: Deployment
    lab: Lab | None
    target: Target
    seed: int
    crowd: Crowd
    began_s: float = 0.0
    effect: list[Evidence] = field(default_factory=list)
    _drawn: int = 0

    def fault(self) -> None:
        """The fault is there from now on."""
        self.began_s = time.monotonic()

    def expect(self, where: str, observed: float, at_least: float) -> None:
        """A sign that the fault had the effect it is named after."""
        holds = observed >= at_least
        self.effect.append(Evidence(where, observed, f"at least {at_least:g}", holds))

    def prompts(self, number: int = _FEW, tokens: int = 0) -> tuple[Probe, ...]:
        """Prompts no cache has seen; of a few blocks unless `tokens` is given."""
        length = tokens or max(self.target.block_sizes()) * _SHORT + 1
        self._drawn += 1
        vocabulary = self.target.known_shape().vocabulary
        lengths = [min(length, self.longest())] * number
        return make_probes(lengths, vocabulary, self.seed * 1000 + self._drawn)

    @property
    def computing(self) -> Role:
        """The pool that computes prompts."""
        return "prefill" if self.target.split else "colocated"

    @property
    def answering(self) -> Role:
        """The pool that generates tokens."""
        return "decode" if self.target.split else "colocated"

    def longest(self) -> int:
        """Tokens of a prompt that fills most of the context."""
        return int((self.target.context or 1024) * _FILLING)

    def cache_tokens(self, role: Role) -> int:
        """Tokens that one engine's KV cache holds."""
        pool = self.target.spec.pools()[role]
        one = expect_kv_bytes(
            self.target.known_shape(), self.target.cache_settings(), [Request(self.longest())]
        )
        return int((pool.kv_cache or _ENGINE_CHOICE) / one.total * self.longest())

    def replicas(self, role: Role) -> tuple[Replica, ...]:
        """Those that run. Raises WorldError when there are none."""
        found = read_status(self.deployment, {}, memory=False).replicas
        running = tuple(r for r in found if r.role == role and r.state == "RUNNING" and r.pids)
        if not running:
            raise WorldError(f"no {role} engine runs")
        return running

    def engines(self, role: Role) -> list[int]:
        """Processes of all engines of a pool, without those of the replicas that hold them."""
        return [pid for replica in self.replicas(role) for pid in replica.pids[1:]]

    @contextlib.contextmanager
    def frozen(self, role: Role) -> Iterator[None]:
        """Every engine of the pool stands still."""
        pids = self.engines(role)
        processes.pause(pids)
        try:
            yield
        finally:
            processes.resume(pids)

    @contextlib.contextmanager
    def handed_over(self, number: int = _FEW) -> Iterator[None]:
        """Within: prefill computed the prompts of `number` clients, and decode, which stands still,
        has asked for nothing yet."""
        began = self.computed()
        with self.frozen("decode"):
            self.crowd.send(self.prompts(number))
            self.wait_for_prefill(began, number)
            yield

    def computed(self) -> float:
        """Prompts that the prefill engines that run now have finished."""
        running = {replica.replica for replica in self.replicas("prefill")}
        counts = Reader(self.deployment).settled().by_replica(FINISHED, "prefill")
        return sum(value for replica, value in counts.items() if replica in running)

    def wait_for_prefill(self, began: float, number: int) -> None:
        """Until prefill computed `number` prompts more than `began`."""
        running = {replica.replica for replica in self.replicas("prefill")}

        def done(now: Scrape) -> float:
            counts = now.by_replica(FINISHED, "prefill")
            return sum(value for replica, value in counts.items() if replica in running) - began

        patience = _PREFILL_S + self.target.lease_s
        last = Reader(self.deployment).until(lambda now: done(now) >= number, patience)
        self.expect("prompts that prefill computed", done(last), number)

    @contextlib.contextmanager
    def reading(self, number: int = _FEW) -> Iterator[None]:
        """Within: decode is at work on handing over `number` prompts, with prefill engines that
        stand still and can give it nothing."""
        with contextlib.ExitStack() as stack:
            with self.handed_over(number):
                stack.enter_context(self.frozen("prefill"))
            time.sleep(_HANDSHAKE_S)
            self.expect("clients waiting for a hand-over", self.crowd.waiting, number)
            yield
