"""vLLM's GPU worker with a compile cache for each GPU.

What torch.compile writes names the GPU that it was compiled on (`cuda:0`), and vLLM's cache key
does not: under Ray's executor every worker sees all GPUs of its host, so the engine on the second
GPU loads what the first one compiled and dies with `CUDA driver error: invalid argument`.
"""

import os
from pathlib import Path

from vllm import envs
from vllm.v1.worker.gpu_worker import Worker

VARIABLE = "VLLM_CACHE_ROOT"


class GpuWorker(Worker):  # type: ignore[misc]
    """Chosen by vLLM's argument `worker_cls`. The GPU is known from `init_device` on, and nothing
    is compiled before."""

    def init_device(self) -> None:
        """Also gives this process the cache of its GPU."""
        super().init_device()
        os.environ[VARIABLE] = gpu_cache(envs.VLLM_CACHE_ROOT, self.device.index)


def gpu_cache(root: str, gpu: int | None) -> str:
    """The folder below `root` of the GPU with index `gpu`; `root` itself when it is that one."""
    path, name = Path(root), f"gpu-{gpu or 0}"
    return str(path if path.name == name else path / name)
