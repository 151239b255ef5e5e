"""Watching metrics that lag behind, with a clock that a sleep moves on."""

from typing import TYPE_CHECKING

import pytest

from rayspan.adapters.metrics import Scrape
from rayspan.verify import observation, reader
from rayspan.verify.observation import RUNNING, observe
from rayspan.verify.probes import Answer, Probe
from rayspan.verify.reader import KV_IN_USE, kv_in_use
from tests.unit.verify.recorded import (
    FINISHED,
    SOUND,
    Deployment,
    probes,
    scrape_of,
    spec_of,
    split_target,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class World:
    """A deployment whose metrics show what was asked `lag` seconds later."""

    def __init__(self, lag: float) -> None:
        self.lag, self.now, self.asked = lag, 0.0, 0
        self.answers: list[float] = []  # when each probe was answered
        self.held: Callable[[float], float] = lambda _: 0.0
        self.seen_roles: tuple[str, ...] = ("prefill", "decode")

    def ask(self, api_base: str, model: str, probe: Probe, new_tokens: int = 8) -> Answer:
        self.now += 0.1
        self.answers.append(self.now)
        return Answer(probe, (1,))

    def scrape(self, urls: object) -> Scrape:
        visible = sum(at + self.lag <= self.now for at in self.answers)
        counts: dict[tuple[str, ...], float] = {}
        for role in self.seen_roles:
            counts[FINISHED, role] = visible
            if self.answers and self.now - self.answers[-1] < 2.0:
                counts[KV_IN_USE, role] = self.held(self.now)
                counts[RUNNING, role] = 0.0
        return scrape_of(counts)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(lag=1.3)
    monkeypatch.setattr(observation, "ask", world.ask)
    monkeypatch.setattr(reader, "scrape", world.scrape)
    monkeypatch.setattr("rayspan.verify.observation.time.sleep", world.sleep)
    monkeypatch.setattr("rayspan.verify.observation.time.monotonic", lambda: world.now)
    return world


DEPLOYED = Deployment(spec_of(kv_lease_s=60))


def test_counters_are_waited_for(world: World) -> None:
    seen = observe(DEPLOYED, split_target(), probes(), drain=False)
    assert seen.grown(FINISHED, "decode") == seen.grown(FINISHED, "prefill") == 5
    assert len(seen.answered) == 5


def test_what_ran_before_is_not_counted(world: World) -> None:
    world.answers = [0.0, 0.0]
    assert observe(DEPLOYED, split_target(), probes(), drain=False).grown(FINISHED, "decode") == 5


def test_a_silent_pool_ends_the_wait(world: World) -> None:
    world.seen_roles = ("decode",)
    seen = observe(DEPLOYED, split_target(), probes(), drain=False)
    assert (seen.grown(FINISHED, "decode"), seen.grown(FINISHED, "prefill")) == (5, 0)
    assert world.now < 20


def test_draining_waits_for_kv_to_be_released(world: World) -> None:
    world.held = lambda now: 0.5 if now < 30 else 0.0
    seen = observe(DEPLOYED, split_target(), probes(), drain=True)
    assert seen.kv_held == {"p0": 0.0, "d0": 0.0}
    assert seen.gauged == {"p0", "d0"}
    assert 30 < world.now < 45


def test_draining_ends_with_the_lease(world: World) -> None:
    world.held = lambda _: 0.5
    lease = 60  # the default of the spec
    seen = observe(DEPLOYED, split_target(), probes(), drain=True)
    assert seen.kv_held == {"p0": 0.5, "d0": 0.5}
    assert lease < world.now < lease + 25


def test_an_engine_that_reports_nothing_is_left_out(world: World) -> None:
    world.seen_roles = ("decode",)
    assert observe(DEPLOYED, split_target(), probes(), drain=True).kv_held == {"d0": 0.0}


def test_kv_in_use_by_replica(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = SOUND | {(KV_IN_USE, "prefill"): 0.25}
    monkeypatch.setattr(reader, "scrape", lambda _: scrape_of(counts))
    assert kv_in_use(["http://there/metrics"]) == {"p0": 0.25}
