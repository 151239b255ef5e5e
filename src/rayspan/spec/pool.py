"""A pool: the replicas of one role, each with one engine."""

from typing import Literal

from pydantic import Field, JsonValue

from rayspan.spec.base import Strict
from rayspan.units import Bytes

Role = Literal["prefill", "decode", "colocated"]


class Pool(Strict):
    """Engines that do the same work."""

    replicas: int = Field(
        default=1,
        ge=1,
        le=256,
        description="Number of engines in the pool.",
        json_schema_extra={"unit": "engines"},
    )
    tensor_parallel: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Devices over which each engine's weights and KV cache are split.",
        json_schema_extra={"unit": "devices"},
    )
    block_size: int | None = Field(
        default=None,
        ge=1,
        le=8192,
        description="Tokens in one block of the KV cache. Left out: the engine's choice.",
        json_schema_extra={"unit": "tokens"},
    )
    kv_cache: Bytes | None = Field(
        default=None,
        ge=2**20,
        le=2**44,
        description='Memory for the KV cache of each device, such as "256MiB". Left out: the '
        "engine's choice.",
        json_schema_extra={"unit": "bytes"},
    )
    max_num_seqs: int | None = Field(
        default=None,
        ge=1,
        le=65536,
        description="Requests that an engine works on at once. Left out: the engine's choice.",
        json_schema_extra={"unit": "requests"},
    )
    max_num_batched_tokens: int | None = Field(
        default=None,
        ge=1,
        le=2**24,
        description="Tokens that an engine computes in one step. Left out: the engine's choice.",
        json_schema_extra={"unit": "tokens"},
    )
    engine: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Further vLLM engine arguments by their Python names, passed through as they "
        "are. What the spec has a field for is refused here.",
    )
