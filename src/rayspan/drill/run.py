"""Plays drills one after the other, and sees what each of them left behind."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rayspan.drill.catalogue import Drill
from rayspan.drill.crowd import Crowd, Got
from rayspan.drill.recovery import recover
from rayspan.drill.result import Result, Seen, judge_drill, not_run, skipped
from rayspan.drill.scene import Scene
from rayspan.drill.told import Told, classify
from rayspan.errors import WorldError
from rayspan.lab.state import Lab
from rayspan.local.run_folder import Deployment
from rayspan.verify.after import After, look_after
from rayspan.verify.parity import NEAR_TIE_NATS, Continuation
from rayspan.verify.references import run_independent
from rayspan.verify.roster import Member, Roster, read_roster
from rayspan.verify.target import Target, read_target

_PATIENCE_S = 60.0  # beyond the lease


def run_drills(
    deployment: Deployment,
    lab: Lab | None,
    drills: Sequence[Drill],
    progress: Callable[[Drill], None],
) -> list[Result]:
    """Each drill begins with a whole deployment: when one is not whole again afterwards, those
    behind it are not run."""
    results: list[Result] = []
    broken = ""
    for drill in drills:
        if reason := drill.why_not(deployment.spec, lab):
            results.append(skipped(drill.name, reason))
        elif broken:
            results.append(not_run(drill.name, f"not run: {broken} left it broken"))
        else:
            progress(drill)
            played = _play(drill, deployment, lab)
            deployment, lab = played.scene.deployment, played.scene.lab
            results.append(played.result)
            broken = drill.name if played.result.recover_s is None else ""
    return results


@dataclass(frozen=True, slots=True)
class _Played:
    scene: Scene
    result: Result


def _play(drill: Drill, deployment: Deployment, lab: Lab | None) -> _Played:
    target = read_target(deployment)
    crowd = Crowd(deployment.api_base, target.spec.model.id, target.lease_s + _PATIENCE_S)
    scene = Scene(deployment, lab, target, secrets.randbits(32), crowd)
    before, problem = read_roster(deployment), ""
    try:
        drill.play(scene)
    except WorldError as error:
        problem = error.message
    crowd.gather()
    recovered = recover(scene)
    after = look_after(scene.deployment, target, scene.seed) if recovered is not None else After()
    replaced = _replaced(before, read_roster(scene.deployment))
    told, unknown = _tell(target, deployment.model_folder, crowd)
    seen = Seen(
        told=told,
        effect=scene.effect,
        recover_s=recovered,
        kv_held=after.kv_held,
        restarted=tuple(str(member) for member in replaced),
        lost=_lost(drill, replaced),
        checks=after.checks,
        problem=problem or unknown,
    )
    return _Played(scene, judge_drill(drill.name, seen))


def _replaced(before: Roster, after: Roster) -> list[Member]:
    """Those that ran before and are gone."""
    still = {member.replica for member in after.members}
    return [member for member in before.members if member.replica not in still]


def _lost(drill: Drill, replaced: Sequence[Member]) -> tuple[str, ...]:
    """Replicas replaced beyond those that the fault itself takes."""
    lost: list[str] = []
    for role in {member.role for member in replaced}:
        own = [str(member) for member in replaced if member.role == role]
        excused = {str(name): number for name, number in drill.loses.items()}.get(role, 0)
        if excused is not None and len(own) > excused:
            lost += own
    return tuple(lost)


def _tell(target: Target, model: str, crowd: Crowd) -> tuple[list[Told], str]:
    """What each client got, held against the reference; and why some could not be told."""
    got, near = crowd.gather(), NEAR_TIE_NATS[target.dtype]
    known: dict[Got, Continuation] = {}
    for length in sorted({one.new_tokens for one in got if one.has_tokens}):
        answered = [one for one in got if one.has_tokens and one.new_tokens == length]
        reference = run_independent(model, [one.probe for one in answered], length)
        if reference.problem:
            return [], f"no reference: {reference.problem}"
        known.update(zip(answered, reference.continuations, strict=True))
    return [classify(one, known.get(one), near, crowd.patience_s) for one in got], ""
