"""A prefill and a decode engine joined by NIXL, without Ray: how many bytes each prompt moves.

Reads {"model", "settings", "prompts", "backend"} on standard input; prints one JSON object per
prompt with the bytes that NIXL moved and the token ids. Run as a process of its own: engines do not
unload.
"""

import asyncio
import json
import os
import sys
from typing import Any

from prometheus_client import REGISTRY
from vllm import SamplingParams
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.sampling_params import RequestOutputKind
from vllm.v1.engine.async_llm import AsyncLLM

NAME = "vllm:nixl_bytes_transferred_sum"


def main() -> None:
    asyncio.run(_run(json.load(sys.stdin)))


async def _run(job: dict[str, Any]) -> None:
    prefill = _engine(job, "kv_producer", 5600)
    decode = _engine(job, "kv_consumer", 5700)
    for i, prompt in enumerate(job["prompts"]):
        before = _moved()
        first = await _generate(prefill, f"p{i}", prompt, 1, {"do_remote_decode": True})
        handed = first.kv_transfer_params
        answer = await _generate(decode, f"d{i}", prompt, 8, handed)
        ids = list(answer.outputs[0].token_ids)
        row = {"tokens": len(prompt), "bytes": int(await _moved_since(before)), "ids": ids}
        print(json.dumps(row), flush=True)
    prefill.shutdown()
    decode.shutdown()


def _engine(job: dict[str, Any], role: str, port: int) -> Any:
    os.environ["VLLM_NIXL_SIDE_CHANNEL_PORT"] = str(port)
    os.environ["VLLM_NIXL_SIDE_CHANNEL_HOST"] = "127.0.0.1"
    transfer = {
        "kv_connector": "NixlConnector",
        "kv_role": role,
        "kv_load_failure_policy": "fail",
        "kv_buffer_device": "cpu",
        "kv_connector_extra_config": {"backends": [job["backend"]]},
    }
    arguments = {
        "max_model_len": 1024,
        "max_num_seqs": 4,
        "max_num_batched_tokens": 1024,
        "kv_cache_memory_bytes": 2**26,
        "enforce_eager": True,
        "seed": 0,
        **job["settings"],
    }
    return AsyncLLM.from_engine_args(
        AsyncEngineArgs(model=job["model"], kv_transfer_config=transfer, **arguments)
    )


async def _generate(engine: Any, name: str, prompt: list[int], tokens: int, transfer: Any) -> Any:
    wanted = SamplingParams(
        max_tokens=tokens,
        temperature=0,
        ignore_eos=True,
        output_kind=RequestOutputKind.FINAL_ONLY,
        extra_args={"kv_transfer_params": transfer},
    )
    async for output in engine.generate({"prompt_token_ids": prompt}, wanted, name):
        last = output
    return last


def _moved() -> float:
    samples = (s for family in REGISTRY.collect() for s in family.samples)
    return sum(s.value for s in samples if s.name == NAME)


async def _moved_since(before: float) -> float:
    """Statistics follow the answer by a moment."""
    for _ in range(50):
        if (now := _moved()) > before:
            return now - before
        await asyncio.sleep(0.02)
    return 0.0


if __name__ == "__main__":
    main()
