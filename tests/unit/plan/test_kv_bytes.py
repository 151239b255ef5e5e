"""Expected bytes against what a pair of real engines moved (`tests/engine_pair.py`, 2026-12)."""

from collections.abc import Sequence

import pytest

from rayspan.errors import InputError
from rayspan.facts.shape import Attention, Cache, LatentAttention, ModelShape, Recurrent
from rayspan.plan.kv_bytes import CacheSettings, Request, expect_kv_bytes, group_caches

LENGTHS = (1, 2, 15, 16, 17, 31, 32, 33, 40, 41, 56, 57, 100, 300)
HEADS = (2, 32)
F32 = CacheSettings(block_size=32, dtype="float32")


def shape_of(*caches: Cache) -> ModelShape:
    return ModelShape("Tiny", "float32", 512, 1024, len(caches), caches)


FULL = shape_of(*[Attention(*HEADS)] * 3)
WINDOW = shape_of(*[Attention(*HEADS, window=40)] * 3)
MIXED = shape_of(*[Attention(*HEADS, window=40)] * 5, *[Attention(*HEADS)] * 2)
STATE = Recurrent("gdn", conv=(256, 3), state=(4, 32, 32))
HYBRID = shape_of(STATE, STATE, STATE, Attention(*HEADS))

MEASURED = {
    "full": (FULL, F32, [49152] * 7 + [98304] * 5 + [196608, 491520]),
    "window": (
        WINDOW,
        CacheSettings(16, "float32"),
        [24576] * 4 + [49152] * 3 + [73728] * 5 + [98304, 73728],
    ),
    "mixed": (MIXED, F32, [131072] * 7 + [262144] * 5 + [425984, 524288]),
    "hybrid": (
        HYBRID,
        CacheSettings(32, "bfloat16", state_dtype="float32"),
        [78336] * 12 + [102912, 152064],
    ),
}


@pytest.mark.parametrize("kind", MEASURED)
def test_equals_what_real_engines_moved(kind: str) -> None:
    shape, settings, measured = MEASURED[kind]
    requests = [Request(n) for n in LENGTHS]
    expected = expect_kv_bytes(shape, settings, requests)
    assert list(expected.per_request) == measured
    assert expected.total == sum(measured)


def test_a_short_group_reads_every_region() -> None:
    groups = group_caches(MIXED, F32)
    assert sorted(group.layers for group in groups) == [1, 2, 2, 2]
    assert {group.regions for group in groups} == {2}


def test_nearly_even_kinds_share_groups_as_large_as_the_larger() -> None:
    shape = shape_of(*[Attention(*HEADS, window=40)] * 4, *[Attention(*HEADS)] * 3)
    assert [(g.layers, g.regions) for g in group_caches(shape, F32)] == [(4, 4), (3, 4)]


def test_window_pages_start_from_the_kernel_block_and_grow_to_the_common_page() -> None:
    assert {g.block_size for g in group_caches(WINDOW, F32)} == {16}
    assert {g.block_size for g in group_caches(MIXED, F32)} == {32}


def test_a_block_grows_until_it_holds_one_state() -> None:
    blocks = {g.block_size for g in group_caches(HYBRID, MEASURED["hybrid"][1]) if g.cache != STATE}
    assert blocks == {96}


def bytes_of(shape: ModelShape, settings: CacheSettings, *requests: Request) -> int:
    return expect_kv_bytes(shape, settings, requests).total


def test_what_decode_has_cached_is_not_read() -> None:
    page = 32 * 2 * 2 * 32 * 4 * 3
    assert bytes_of(FULL, F32, Request(100, cached=64)) == 2 * page
    assert bytes_of(FULL, F32, Request(100)) == 4 * page


def test_ranks_share_heads_and_repeat_them_when_there_are_too_few() -> None:
    two, four = (CacheSettings(32, "float32", tensor_parallel=n) for n in (2, 4))
    one_rank = bytes_of(FULL, F32, Request(33))
    assert bytes_of(FULL, two, Request(33)) == one_rank
    assert bytes_of(FULL, four, Request(33)) == 2 * one_rank


def test_each_rank_reads_the_whole_latent() -> None:
    shape = shape_of(*[LatentAttention(512, 64)] * 2)
    settings = [CacheSettings(16, "bfloat16", tensor_parallel=n) for n in (1, 2)]
    assert [bytes_of(shape, s, Request(17)) for s in settings] == [
        2 * 2 * 16 * 576 * 2,
        2 * 2 * 2 * 16 * 576 * 2,
    ]


def test_an_eight_bit_cache_halves_the_bytes() -> None:
    half = CacheSettings(32, "bfloat16", kv_cache_dtype="fp8")
    whole = CacheSettings(32, "bfloat16")
    assert 2 * bytes_of(FULL, half, Request(50)) == bytes_of(FULL, whole, Request(50))


def test_one_group_reads_window_and_chunked_layers_whole() -> None:
    full = bytes_of(shape_of(*[Attention(*HEADS)] * 7), F32, Request(300))
    off = CacheSettings(32, "float32", one_group=True)
    assert bytes_of(MIXED, off, Request(300)) == full
    chunked = shape_of(*[Attention(*HEADS, chunk=64)] * 5, *[Attention(*HEADS)] * 2)
    assert bytes_of(chunked, F32, Request(300)) == full


def test_the_formula_is_shown_with_its_numbers() -> None:
    text = expect_kv_bytes(FULL, F32, [Request(31), Request(33)]).explain
    assert text[0] == (
        "1 group(s) of 3 x full attention, page 32 tokens x 2 (K, V) x 2 heads / 1 x 32 elements"
        " = 16384 B: blocks 1 + 2 = 3; 3 x 3 regions x 16384 B x 1 rank(s) = 147456 B each"
    )
    assert text[-1] == "sum over 1 group(s) and 1 rank(s): 147456 bytes"


@pytest.mark.parametrize(
    ("caches", "says"),
    [((), "keeps no cache"), ((Attention(2, 32), Attention(3, 64, window=8)), "cannot be unified")],
)
def test_what_cannot_be_expected_is_said(caches: Sequence[Cache], says: str) -> None:
    with pytest.raises(InputError, match=says):
        bytes_of(shape_of(*caches), F32, Request(5))
