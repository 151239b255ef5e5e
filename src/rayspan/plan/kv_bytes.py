"""How many bytes of KV cache a decode engine must read from a prefill engine, by the model's shape.

The engine's own report is what this number is compared with, so nothing here may come from it. The
rules are those of vLLM's pull connector and its KV cache manager, each cited where it is used:

- a request asks for whole blocks, the last one too when it is only partly filled;
- layers of one kind form cache groups of equal size, whose layers share memory regions: reading one
  block of a group reads that block in every region, also where the last group has no layer left;
- what the decode engine finds in its own prefix cache is not read.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from rayspan.errors import InputError
from rayspan.facts.shape import (
    DTYPE_BYTES,
    Attention,
    Cache,
    LatentAttention,
    ModelShape,
    Recurrent,
)


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """What the decode engine was told. `block_size` in tokens, `dtype` as the engine serves it.

    `kernel_block` is the attention kernel's smallest block: window layers start from it and not
    from `block_size`. `one_group` says that the hybrid cache manager is off.
    """

    block_size: int
    dtype: str
    kv_cache_dtype: str = "auto"
    tensor_parallel: int = 1
    state_dtype: str | None = None
    kernel_block: int = 16
    one_group: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One handed-over prompt: its tokens, and those that decode had in its own prefix cache."""

    tokens: int
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that share one block table. `page_bytes` is one block of one layer on one rank."""

    cache: Cache
    layers: int
    regions: int
    block_size: int
    page_bytes: int


@dataclass(frozen=True, slots=True)
class KvBytes:
    """`total` over all ranks, `per_request` in the order asked, `explain` as lines of text."""

    total: int
    per_request: tuple[int, ...]
    explain: tuple[str, ...]


def expect_kv_bytes(
    shape: ModelShape, settings: CacheSettings, requests: Sequence[Request]
) -> KvBytes:
    """Bytes that the decode engine reads for these requests, all tensor ranks together."""
    groups = group_caches(shape, settings)
    per_request = tuple(
        settings.tensor_parallel
        * sum(
            group.regions
            * group.page_bytes
            * blocks_read(group, handed_tokens(shape, request), request)
            for group in groups
        )
        for request in requests
    )
    texts = Counter(_explain(shape, settings, group, requests) for group in groups)
    lines = [f"{number} group(s) of {text}" for text, number in texts.items()]
    ranks = settings.tensor_parallel
    total = sum(per_request)
    lines.append(f"sum over {len(groups)} group(s) and {ranks} rank(s): {total} bytes")
    return KvBytes(total, per_request, tuple(lines))


def handed_tokens(shape: ModelShape, request: Request) -> int:
    """A recurrent state must be the one before the last token, which decode computes itself."""
    return request.tokens - 1 if shape.is_hybrid() and request.tokens > 1 else request.tokens


def blocks_read(group: Group, handed: int, request: Request) -> int:
    """Blocks of this group that decode allocates for the prompt and does not already hold."""
    if isinstance(group.cache, Recurrent):
        return 1
    skipped = request.cached // group.block_size
    if isinstance(group.cache, Attention) and group.cache.window:
        outside = max(0, handed - group.cache.window + 1)
        skipped = max(skipped, outside // group.block_size)
    return ceil(handed / group.block_size) - skipped


def group_caches(shape: ModelShape, settings: CacheSettings) -> tuple[Group, ...]:
    """The cache groups that the engine forms, with their unified page.

    Groups have as many layers as the rarest kind, unless the kinds are nearly even (max under 1.5
    min): then as many as the commonest (vllm/v1/core/kv_cache_utils.py).
    """
    counts = Counter(_as_managed(cache, settings) for cache in shape.caches)
    if not counts:
        raise InputError(f"{shape.architecture} keeps no cache: there is nothing to hand over")
    blocks = _unify_pages(counts, settings)
    fewest, most = min(counts.values()), max(counts.values())
    size = most if most < fewest * 1.5 else fewest
    groups = []
    for cache, layers in counts.items():
        number = ceil(layers / size)
        for i in range(number):
            in_group = len(range(i, layers, number))
            groups.append((cache, in_group))
    regions = max(layers for _, layers in groups)
    return tuple(
        Group(cache, layers, regions, blocks[cache], _page_bytes(cache, blocks[cache], settings))
        for cache, layers in groups
    )


def _as_managed(cache: Cache, settings: CacheSettings) -> Cache:
    """Chunked layers are managed as full ones by default, window layers when asked."""
    if isinstance(cache, Attention) and (cache.chunk or (settings.one_group and cache.window)):
        return Attention(cache.kv_heads, cache.head_dim)
    return cache


def _unify_pages(counts: Counter[Cache], settings: CacheSettings) -> dict[Cache, int]:
    """Block size of each kind: grown until every page has the same number of bytes."""
    base = _grown_block(counts, settings)
    blocks = {
        cache: settings.kernel_block if isinstance(cache, Attention) and cache.window else base
        for cache in counts
    }
    attention = [cache for cache in counts if not isinstance(cache, Recurrent)]
    page = max((_page_bytes(cache, blocks[cache], settings) for cache in attention), default=0)
    for cache in attention:
        own = _page_bytes(cache, blocks[cache], settings)
        if page % own:
            raise InputError(f"pages of {own} and {page} bytes cannot be unified by the engine")
        blocks[cache] *= page // own
    return blocks


def _grown_block(counts: Counter[Cache], settings: CacheSettings) -> int:
    """With recurrent layers the attention page must hold one state: the block grows to fit."""
    states = [_page_bytes(cache, 1, settings) for cache in counts if isinstance(cache, Recurrent)]
    tokens = [
        _page_bytes(cache, 1, settings) for cache in counts if not isinstance(cache, Recurrent)
    ]
    if not states or not tokens:
        return settings.block_size
    step = max(settings.kernel_block, settings.block_size)
    return max(settings.block_size, step * ceil(max(states) / (step * min(tokens))))


def _page_bytes(cache: Cache, block: int, settings: CacheSettings) -> int:
    """One block of one layer on one rank; for a recurrent layer, its whole state."""
    kept = settings.dtype if settings.kv_cache_dtype == "auto" else settings.kv_cache_dtype
    match cache:
        case Attention():
            heads = max(1, cache.kv_heads // settings.tensor_parallel)
            return block * heads * 2 * cache.head_dim * DTYPE_BYTES[kept]
        case LatentAttention():
            return block * (cache.latent_dim + cache.rope_dim) * DTYPE_BYTES[kept]
        case Recurrent():
            state = settings.state_dtype or cache.state_dtype or settings.dtype
            whole = (
                cache.conv_elements() * DTYPE_BYTES[settings.dtype]
                + cache.state_elements() * DTYPE_BYTES[state]
            )
            return whole // settings.tensor_parallel


def _explain(
    shape: ModelShape, settings: CacheSettings, group: Group, requests: Sequence[Request]
) -> str:
    blocks = [blocks_read(group, handed_tokens(shape, request), request) for request in requests]
    total = sum(blocks) * group.regions * group.page_bytes * settings.tensor_parallel
    return (
        f"{group.layers} x {_describe(group, settings)}: "
        f"blocks {' + '.join(map(str, blocks)) or '0'} = {sum(blocks)}; "
        f"{sum(blocks)} x {group.regions} regions x {group.page_bytes} B"
        f" x {settings.tensor_parallel} rank(s) = {total} B each"
    )


def _describe(group: Group, settings: CacheSettings) -> str:
    match group.cache:
        case Attention(kv_heads=heads, head_dim=dim, window=window):
            kind = f"sliding attention (window {window})" if window else "full attention"
            page = f"2 (K, V) x {heads} heads / {settings.tensor_parallel} x {dim}"
        case LatentAttention(latent_dim=latent, rope_dim=rope):
            kind, page = "latent attention", f"({latent} + {rope})"
        case Recurrent(conv=conv, state=state):
            shape = " x ".join(map(str, state))
            return f"{group.cache.kind} state (conv {conv[0]} x {conv[1]}, recurrent {shape})"
    return f"{kind}, page {group.block_size} tokens x {page} elements = {group.page_bytes} B"
