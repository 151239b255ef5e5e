"""Did prefill compute the prompts, and did decode take them over, to the token?"""

from rayspan.plan.kv_bytes import Request, handed_tokens
from rayspan.verify.observation import Observation
from rayspan.verify.reader import FINISHED
from rayspan.verify.target import Target
from rayspan.verify.verdict import Check, equal, inconclusive, judge, skip

NAME = "split"
SOURCE = "ray_vllm_prompt_tokens_by_source_total"
COLOCATED = "one pool computes prompts and tokens: nothing is handed over"


def check_split(target: Target, seen: Observation) -> Check:
    """A one-token prompt is handed over and then computed again by vLLM 0.26, which counts it as
    computed; a hybrid model's decode always computes the last token itself.
    """
    if not target.split:
        return skip(NAME, COLOCATED)
    if target.shape is None:
        return inconclusive(
            NAME, f"how many tokens are handed over is unknown: {target.unknown_shape}"
        )
    if reason := unusable(seen):
        return inconclusive(NAME, reason)
    lengths = [len(answer.probe.prompt) for answer in seen.answered]
    handed = [handed_tokens(target.shape, Request(n)) for n in lengths]
    taken = sum(h for n, h in zip(lengths, handed, strict=True) if n > 1)
    computed = _tokens(seen, "prefill", "local_compute")
    took_over = _tokens(seen, "decode", "external_kv_transfer")
    recomputed = _tokens(seen, "decode", "local_compute")
    evidence = [
        equal("prompt tokens computed by prefill", computed, sum(handed)),
        equal("prompt tokens decode took over", took_over, taken),
        equal("prompt tokens computed by decode", recomputed, sum(lengths) - taken),
        equal("prompt tokens found in a cache", _cached(seen), 0),
    ]
    summary = (
        f"of {len(lengths)} prompts prefill computed {sum(handed)} tokens, decode took over {taken}"
    )
    return judge(NAME, summary, evidence)


def _tokens(seen: Observation, role: str, source: str) -> float:
    return seen.grown(SOURCE, role, source=source)


def _cached(seen: Observation) -> float:
    return sum(_tokens(seen, role, "local_cache_hit") for role in ("prefill", "decode"))


def unusable(seen: Observation) -> str:
    """Why the counters cannot be held against these probes; empty when they can.

    Prefill may have finished fewer: a request that never went there is a finding, not a gap.
    """
    asked = len(seen.answered)
    if not asked:
        errors = "; ".join(answer.error for answer in seen.answers[:1]) or "no probe was sent"
        return f"no probe was answered: {errors}"
    decode, prefill = seen.grown(FINISHED, "decode"), seen.grown(FINISHED, "prefill")
    if decode < asked:
        return f"the metrics tell of {decode:.0f} requests on decode for {asked} answered probes"
    if max(decode, prefill) > len(seen.answers):
        return (
            f"other requests ran meanwhile: {prefill:.0f} on prefill and {decode:.0f} on decode"
            f" for {len(seen.answers)} probes"
        )
    return ""
