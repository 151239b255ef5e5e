"""A prefill and a decode engine joined by NIXL, put through what the guard is for. Without Ray.

Reads {"model", "settings", "guarded", "fault"} on standard input; prints one JSON object a scene:
its name, the token ids of the answer or none, how it ended, what one engine alone answers, and the
pids of the engines. Run as a process of its own: engines do not unload.
"""

import asyncio
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import psutil
from vllm import SamplingParams
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.sampling_params import RequestOutputKind
from vllm.v1.engine.async_llm import AsyncLLM

from rayspan.render.kv_transfer import GUARD_CONNECTOR, GUARD_SCHEDULER

LEASE_S = 6
TAKE = {"do_remote_decode": True}
PATIENCE_S = 60
_CANDIDATES = 4


def main() -> None:
    asyncio.run(Scenes(json.load(sys.stdin)).play())


class Scenes:
    def __init__(self, job: dict[str, Any]) -> None:
        self.fault, self.chance, self.count = Path(job["fault"]), random.Random(7), 0
        self.prefill = _engine(job, "kv_producer", 5800)
        self.decode = _engine(job, "kv_consumer", 5900)

    async def play(self) -> None:
        await self.tell("sound", await self.prompt(), {})
        await self.refused_read()
        await self.late_read()
        await self.early_but_unproven()
        await self.bad_parameters()
        self.prefill.shutdown()
        self.decode.shutdown()

    async def refused_read(self) -> None:
        prompt = await self.prompt()
        self.fault.touch()
        await self.tell("refused", prompt, {})
        self.fault.unlink()
        await self.tell("the same prompt after", prompt, {})

    async def late_read(self) -> None:
        """Prefill gives the blocks up, and puts other prompts into them, before decode reads."""
        prompt = await self.prompt()
        handed = await self.hand_over(prompt)
        await asyncio.sleep(LEASE_S + 1)
        for _ in range(12):
            await self.ask(self.prefill, self.any_prompt(), 1, None)
        await self.tell("late", prompt, handed)
        await self.tell("the same prompt after late", prompt, {})

    async def early_but_unproven(self) -> None:
        """The lease is held, but its end as decode knows it is past: prefill is asked."""
        prompt = await self.prompt()
        handed = await self.hand_over(prompt)
        await self.tell("asked", prompt, {**handed, "remote_blocks_expiry_time": 0.0})

    async def bad_parameters(self) -> None:
        faults: dict[str, dict[str, Any]] = {
            "no blocks": {"remote_block_ids": []},
            "blocks beyond the end": {"remote_block_ids": [[10**6]]},
            "no host": {"remote_host": None},
        }
        for name, wrong in faults.items():
            prompt = await self.prompt()
            handed = await self.hand_over(prompt)
            await self.tell(name, prompt, {**handed, **wrong})
        await self.tell("at last", await self.prompt(), {})

    def any_prompt(self) -> list[int]:
        return [self.chance.randrange(16, 250) for _ in range(100)]

    async def prompt(self) -> list[int]:
        """Of a few prompts the one whose first token leads by most: rounding must not turn it."""
        by_lead = []
        for _ in range(_CANDIDATES):
            candidate = self.any_prompt()
            answer = await self.ask(self.prefill, candidate, 1, None)
            choices = answer.outputs[0].logprobs[0].values()
            best, second = sorted((c.logprob for c in choices), reverse=True)[:2]
            by_lead.append((best - second, candidate))
        return max(by_lead)[1]

    async def hand_over(self, prompt: list[int]) -> dict[str, Any]:
        first = await self.ask(self.prefill, prompt, 1, TAKE)
        return dict(first.kv_transfer_params)

    async def tell(self, scene: str, prompt: list[int], handed: dict[str, Any]) -> None:
        handed = handed or await self.hand_over(prompt)
        answer = await self.ask(self.decode, prompt, 8, handed)
        alone = await self.ask(self.prefill, prompt, 8, None)
        row = {
            "scene": scene,
            "ids": list(answer.outputs[0].token_ids) if answer else [],
            "ended": str(answer.outputs[0].finish_reason) if answer else "error",
            "alone": list(alone.outputs[0].token_ids),
            "pids": sorted(p.pid for p in psutil.Process().children() if _is_engine(p)),
        }
        print(json.dumps(row), flush=True)

    async def ask(self, engine: Any, prompt: list[int], tokens: int, transfer: Any) -> Any:
        """None when the engine answers with an error, and when it does not answer."""
        self.count += 1
        wanted = SamplingParams(
            max_tokens=tokens,
            temperature=0,
            ignore_eos=True,
            logprobs=2,
            output_kind=RequestOutputKind.FINAL_ONLY,
            extra_args={"kv_transfer_params": transfer} if transfer else None,
        )
        last = None
        try:
            async with asyncio.timeout(PATIENCE_S):
                asked = engine.generate({"prompt_token_ids": prompt}, wanted, f"r{self.count}")
                async for output in asked:
                    last = output
        except Exception as error:  # noqa: BLE001  (each way in which it may end is an answer)
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            return None
        return last if last and last.outputs[0].finish_reason != "error" else None


def _is_engine(process: psutil.Process) -> bool:
    return "EngineCore" in process.name() or "EngineCore" in " ".join(process.cmdline())


def _engine(job: dict[str, Any], role: str, port: int) -> Any:
    os.environ["VLLM_NIXL_SIDE_CHANNEL_PORT"] = str(port)
    os.environ["VLLM_NIXL_SIDE_CHANNEL_HOST"] = "127.0.0.1"
    transfer: dict[str, Any] = {
        "kv_connector": "NixlConnector",
        "kv_role": role,
        "kv_load_failure_policy": "fail",
        "kv_buffer_device": "cpu",
        "kv_connector_extra_config": {"kv_lease_duration": LEASE_S},
    }
    guard = {}
    if job["guarded"]:
        transfer["kv_connector_module_path"] = GUARD_CONNECTOR
        guard = {"scheduler_cls": GUARD_SCHEDULER}
    arguments = {
        "max_model_len": 128,
        "max_num_seqs": 4,
        "max_num_batched_tokens": 128,
        "num_gpu_blocks_override": 32,
        "kv_cache_memory_bytes": 2**26,
        "enforce_eager": True,
        "seed": 0,
        **job["settings"],
        **guard,
    }
    return AsyncLLM.from_engine_args(
        AsyncEngineArgs(model=job["model"], kv_transfer_config=transfer, **arguments)
    )


if __name__ == "__main__":
    main()
