"""The split check on counters of sound, broken and unclear runs."""

import pytest

from rayspan.facts.shape import Attention, ModelShape, Recurrent
from rayspan.verify.probes import Answer, Probe
from rayspan.verify.split import check_split
from rayspan.verify.target import Target
from rayspan.verify.verdict import Verdict
from tests.unit.verify.recorded import (
    FINISHED,
    SOUND,
    SOURCE,
    answers,
    colocated_target,
    observed,
    spec_of,
    split_target,
)


def test_a_sound_hand_over_passes_to_the_token() -> None:
    check = check_split(split_target(), observed(SOUND))
    assert check.verdict is Verdict.PASS
    assert check.summary == "of 5 prompts prefill computed 626 tokens, decode took over 625"


def test_one_token_less_fails() -> None:
    counts = SOUND | {(SOURCE, "decode", "source=external_kv_transfer"): 624}
    check = check_split(split_target(), observed(counts))
    assert check.verdict is Verdict.FAIL
    assert check.summary == "prompt tokens decode took over: 624.0, expected 625"


def test_a_proxy_that_skips_prefill_fails() -> None:
    alone = {(FINISHED, "decode"): 5, (SOURCE, "decode", "source=local_compute"): 626}
    check = check_split(split_target(), observed(alone))
    assert check.verdict is Verdict.FAIL
    assert "computed by prefill: 0.0, expected 626" in check.summary


def test_prompts_found_in_a_cache_fail() -> None:
    cached = SOUND | {(SOURCE, "decode", "source=local_cache_hit"): 32}
    assert check_split(split_target(), observed(cached)).verdict is Verdict.FAIL


def test_a_hybrid_decode_computes_the_last_token_itself() -> None:
    state = Recurrent("gdn", conv=(256, 3), state=(4, 32, 32))
    shape = ModelShape("Qwen3NextForCausalLM", "bfloat16", 512, 1024, 2, (state, Attention(2, 32)))
    counts = SOUND | {
        (SOURCE, "prefill", "source=local_compute"): 622,
        (SOURCE, "decode", "source=external_kv_transfer"): 621,
        (SOURCE, "decode", "source=local_compute"): 5,
    }
    assert check_split(Target(spec_of(), shape), observed(counts)).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("counts", "given", "says"),
    [
        ({}, answers(), "0 requests on decode for 5 answered probes"),
        (SOUND | {(FINISHED, "decode"): 6}, answers(), "other requests ran meanwhile"),
        (SOUND | {(FINISHED, "prefill"): 6}, answers(), "other requests ran meanwhile"),
        ({}, (Answer(Probe((1,)), error="status 500: no"),), "status 500: no"),
        ({}, (), "no probe was sent"),
    ],
)
def test_what_cannot_be_told_is_no_pass(
    counts: dict[tuple[str, ...], float], given: tuple[Answer, ...], says: str
) -> None:
    check = check_split(split_target(), observed(counts, given=given))
    assert check.verdict is Verdict.INCONCLUSIVE
    assert says in check.summary


def test_an_unknown_model_is_inconclusive() -> None:
    check = check_split(Target(spec_of(), None, "odd"), observed(SOUND))
    assert (check.verdict, "odd" in check.summary) == (Verdict.INCONCLUSIVE, True)


def test_colocated_engines_are_skipped() -> None:
    assert check_split(colocated_target(), observed({})).verdict is Verdict.SKIP
