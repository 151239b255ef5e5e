"""What engines on GPUs are given where vLLM and Ray Serve LLM look for it. No GPU is needed."""

# ruff: noqa: PLC0415  (Ray and vLLM are imported by the tests that are asked for)

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from rayspan.render import render_serve_config
from rayspan.spec import STORE_PORTS, parse_spec

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]

SPEC = """
model: {id: m, source: org/m}
serving: {kind: colocated, replicas: 2}
target: {kind: local, device: cuda}
"""


def store_port() -> int:
    """The port that vLLM's Ray executor would gather its workers on, configured here and now."""
    from vllm.config import ParallelConfig
    from vllm.v1.executor.ray_executor_v2 import RayExecutorV2

    config = ParallelConfig()
    port: int = RayExecutorV2._select_tcpstore_port(
        config.data_parallel_rank_local, config.data_parallel_master_port
    )
    return port


def start_replica(rank: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Runs what Ray Serve LLM runs in the replica of `rank` before its engine; the environment of
    the task in which it then makes the engine's configuration."""
    from ray import serve
    from ray.llm._internal.serve.core.ingress.builder import LLMServingArgs
    from ray.llm._internal.serve.engines.vllm.vllm_models import VLLMEngineConfig

    replica = SimpleNamespace(rank=SimpleNamespace(rank=rank))
    monkeypatch.setattr(serve, "get_replica_context", lambda: replica)
    monkeypatch.setattr(VLLMEngineConfig, "get_or_create_pg", lambda _self: None)
    (app,) = render_serve_config(parse_spec(SPEC, "s"), "/m").to_dict()["applications"]
    (config,) = LLMServingArgs.model_validate(app["args"]).llm_configs
    callback = config.get_or_create_callback()
    asyncio.run(callback.run_callback("on_before_node_init"))
    variables: dict[str, str] = callback.ctx.runtime_env["env_vars"]
    return variables


def test_replicas_of_one_host_start_on_ports_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from rayspan.serving.own_ports import VARIABLE

    monkeypatch.setenv(VARIABLE, "0")
    ports = []
    for rank in (0, 1):
        variables = start_replica(rank, monkeypatch)
        assert variables[VARIABLE] == os.environ[VARIABLE]
        ports.append(store_port())
    for rank, port in enumerate(ports):
        assert 28000 + rank * STORE_PORTS <= port < 28000 + (rank + 1) * STORE_PORTS


def test_without_it_they_choose_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "vllm.v1.executor.ray_executor_v2._get_open_port", lambda start_port, **_: start_port
    )
    assert store_port() == store_port() == 100


def test_a_worker_asks_for_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm.v1.executor import ray_executor_v2

    gpus = SimpleNamespace(ray_device_key="GPU")
    monkeypatch.setattr(ray_executor_v2, "current_platform", gpus)
    asked = ray_executor_v2.RayExecutorV2._get_actor_resource_kwargs
    half = "serving: {kind: colocated, gpu_share: 0.5, engine: {gpu_memory_utilization: 0.4}}"
    spec = SPEC.replace("serving: {kind: colocated, replicas: 2}", half)
    (app,) = render_serve_config(parse_spec(spec, "s"), "/m").to_dict()["applications"]
    (pool,) = app["args"]["llm_configs"]
    assert asked() == {"num_gpus": 1}
    for name, value in pool["runtime_env"]["env_vars"].items():
        monkeypatch.setenv(name, value)
    assert (
        asked()
        == {"num_gpus": 0.5}
        == {"num_gpus": pool["placement_group_config"]["bundle_per_worker"]["GPU"]}
    )


def test_each_gpu_has_a_compile_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from vllm import envs
    from vllm.utils.import_utils import resolve_obj_by_qualname
    from vllm.v1.worker.gpu_worker import Worker

    (app,) = render_serve_config(parse_spec(SPEC, "s"), "/m").to_dict()["applications"]
    name = app["args"]["llm_configs"][0]["engine_kwargs"]["worker_cls"]
    worker_class = resolve_obj_by_qualname(name)
    assert issubclass(worker_class, Worker)

    def init_device(self: Any) -> None:
        self.device = torch.device("cuda:1")

    monkeypatch.setattr(Worker, "init_device", init_device)
    monkeypatch.setenv("VLLM_CACHE_ROOT", str(tmp_path))
    worker = object.__new__(worker_class)
    for _ in range(2):  # an engine that sleeps and wakes may do it again
        worker.init_device()
        assert str(tmp_path / "gpu-1") == envs.VLLM_CACHE_ROOT
