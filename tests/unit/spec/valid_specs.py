"""A hypothesis strategy for valid specs, as the data that YAML would give."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# The same examples each time, whatever else the machine does, and no folder of them left behind.
anything = settings(
    suppress_health_check=list(HealthCheck),
    deadline=None,
    database=None,
    derandomize=True,
    max_examples=40,
)

TEXT = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20)
SIZES = st.sampled_from(["1MiB", "256MiB", "1.5GiB", "200MB", 1 << 30])
RAW = st.fixed_dictionaries(
    {},
    optional={
        "gpu_memory_utilization": st.floats(min_value=0.1, max_value=0.95),
        "enable_prefix_caching": st.booleans(),
        "chat_template": TEXT,
        "kv_cache_dtype": st.sampled_from(["auto", "fp8"]),
        "hf_overrides": st.dictionaries(
            st.sampled_from(["b", "a"]), st.lists(st.integers(), max_size=2), max_size=2
        ),
    },
)


@st.composite
def pools(draw: st.DrawFn, /, **fixed: Any) -> dict[str, Any]:
    pool = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "replicas": st.integers(1, 4),
                "tensor_parallel": st.sampled_from([1, 2, 4]),
                "block_size": st.sampled_from([16, 32, 64]),
                "kv_cache": SIZES,
                "max_num_seqs": st.integers(1, 64),
                "max_num_batched_tokens": st.integers(64, 4096),
                "engine": RAW,
            },
        )
    )
    return {name: value for name, value in {**pool, **fixed}.items() if value is not None}


@st.composite
def splits(draw: st.DrawFn) -> dict[str, Any]:
    same = {"block_size": draw(st.sampled_from([None, 16, 32])), "engine": draw(RAW)}
    return {
        "kind": "prefill-decode",
        "prefill": draw(pools(**same)),
        "decode": draw(pools(**same)),
        "transport": {"kind": draw(st.sampled_from(["ucx", "tcp"]))},
        "kv_lease_s": draw(st.integers(6, 86400)),
    }


@st.composite
def colocated(draw: st.DrawFn, device: str) -> dict[str, Any]:
    stages = draw(st.sampled_from([None, 1, 2]))
    pool = draw(pools(pipeline_parallel=stages))
    if pool.get("tensor_parallel", 1) * (stages or 1) > 1:
        cpu, all_of_them = ["pack", "strict-pack"], ["pack", "spread", "strict-spread"]
        pool["placement"] = draw(st.sampled_from(cpu if device == "cpu" else all_of_them))
    return {"kind": "colocated", **pool}


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    device = draw(st.sampled_from(["cpu", "cuda"]))
    return {
        "name": draw(st.from_regex(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", fullmatch=True)),
        "model": {
            "id": draw(st.sampled_from(["m", "Qwen/Qwen3-0.6B", "a.b_c-1"])),
            "source": draw(st.sampled_from(["./m", "org/model", "builtin:smollm2-135m", "~/m"])),
            "dtype": draw(st.sampled_from(["auto", "float32", "bfloat16", "float16"])),
        },
        "serving": draw(st.one_of(splits(), colocated(device))),
        "target": {
            "kind": "local",
            "host": draw(st.sampled_from(["127.0.0.1", "0.0.0.0", "localhost", "gpu-1.lan"])),
            "port": draw(st.integers(1, 8264)),
            "device": device,
            "threads_per_engine": draw(st.integers(1, 8)),
        },
    }
