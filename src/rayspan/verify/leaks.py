"""Is KV cache still held once all requests are done?"""

from rayspan.verify.observation import Observation
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, Evidence, inconclusive, judge

NAME = "leaks"


def check_leaks(target: Target, seen: Observation) -> Check:
    """At rest, and at the latest when the lease has run out, every engine holds none.

    Blocks kept for later prompts with the same beginning count as free.
    """
    if not seen.answered:
        return inconclusive(NAME, "no probe was answered")
    if seen.others_running:
        return inconclusive(NAME, f"{seen.others_running:.0f} other requests were still running")
    evidence: list[Evidence] = []
    for role, pool in target.spec.pools().items():
        shares = {r: s for r, s in seen.kv_held.items() if seen.drained.roles.get(r) == role}
        if len(shares) < pool.replicas:
            reason = f"{len(shares)} of {pool.replicas} {role} engines told how much KV they hold"
            return inconclusive(NAME, reason, evidence)
        evidence += [
            Evidence(f"KV held at rest by {role} {replica}", share, 0.0, share == 0.0)
            for replica, share in sorted(shares.items())
        ]
    return judge(NAME, f"all {len(evidence)} engines hold no KV at rest", evidence)
