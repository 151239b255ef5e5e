"""What is rendered is what Ray Serve, Ray Serve LLM and vLLM read: their own models take it.

No engine is started: vLLM's arguments are built and its configuration of the KV transfer with them.
"""

# ruff: noqa: PLC0415  (Ray and vLLM are imported by the tests that are asked for)

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from rayspan.spec import engine_arguments
from tools.golden import golden_files

# What Ray and vLLM warn of while they are imported is not the matter here.
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]

CONFIGS = {path.parent.parent.name: text for path, text in golden_files()}


def config_of(name: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(CONFIGS[name])
    return config


def pools_of(name: str) -> list[Any]:
    """Each pool as Ray's LLMConfig, as the builder of the application reads it."""
    from ray.llm._internal.serve.core.ingress.builder import LLMServingArgs
    from ray.llm._internal.serve.serving_patterns.prefill_decode.builder import PDServingArgs

    (app,) = config_of(name)["applications"]
    if app["import_path"].endswith(":build_pd_openai_app"):
        split = PDServingArgs.model_validate(app["args"])
        return [split.prefill_config, split.decode_config]
    return list(LLMServingArgs.model_validate(app["args"]).llm_configs)


@pytest.mark.parametrize("name", CONFIGS)
def test_ray_serve_takes_the_configuration(name: str) -> None:
    from ray.serve.schema import ServeDeploySchema

    schema = ServeDeploySchema.model_validate(config_of(name))
    assert [app.name for app in schema.applications] == ["default"]
    assert schema.http_options.host == "127.0.0.1"
    assert schema.proxy_location == "HeadOnly"


@pytest.mark.parametrize("name", CONFIGS)
def test_ray_serve_llm_takes_the_application(name: str) -> None:
    from ray.llm._internal.common.utils.import_utils import load_class

    (app,) = config_of(name)["applications"]
    assert callable(load_class(app["import_path"]))
    for pool in pools_of(name):
        engine = pool.get_engine_config()
        assert engine.get_initialization_kwargs()["model"] == pool.model_loading_config.model_source
        assert engine.num_devices == len(engine.placement_bundles)


@pytest.mark.parametrize("name", CONFIGS)
def test_every_deployment_gets_its_options(name: str) -> None:
    for pool in pools_of(name):
        devices = pool.get_engine_config().num_devices
        kind = "CPU" if pool.accelerator_config.kind == "cpu" else "GPU"
        assert pool.get_engine_config().placement_bundles == [{kind: 1}] * devices
        wanted = "STRICT_SPREAD" if name == "cuda-two-nodes" else "PACK"
        assert pool.get_engine_config().placement_strategy == wanted
        assert pool.deployment_config["health_check_timeout_s"] >= 30


@pytest.mark.parametrize("name", [name for name in CONFIGS if "-pd" in name or "2p2d" in name])
def test_vllm_reads_the_hand_over_where_it_is_written(name: str) -> None:
    from vllm.config import KVTransferConfig

    prefill, decode = (
        KVTransferConfig(**pool.engine_kwargs["kv_transfer_config"]) for pool in pools_of(name)
    )
    assert prefill.is_kv_producer
    assert not prefill.is_kv_consumer
    assert decode.is_kv_consumer
    assert not decode.is_kv_producer
    for config in (prefill, decode):
        assert config.kv_load_failure_policy == "fail"
        assert config.get_from_extra_config("backends", None) == ["UCX"]
        assert config.get_from_extra_config("kv_lease_duration", None) >= 60


@pytest.mark.parametrize("name", CONFIGS)
def test_vllm_takes_the_engine_arguments(name: str, tmp_path: Path) -> None:
    from vllm.engine.arg_utils import AsyncEngineArgs

    for pool in pools_of(name):
        known = {field.name for field in dataclasses.fields(AsyncEngineArgs)}
        given = pool.get_engine_config().get_initialization_kwargs()
        arguments = AsyncEngineArgs(**(given | {"model": str(tmp_path)}))
        assert set(pool.engine_kwargs) <= known
        for argument, value in pool.engine_kwargs.items():
            if argument != "kv_transfer_config":
                assert getattr(arguments, argument) == value


def test_ray_serve_places_the_devices_as_the_spec_says(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray
    from ray.llm._internal.serve.core.server.llm_server import LLMServer

    outside = SimpleNamespace(runtime_env={})
    monkeypatch.setattr(ray, "get_runtime_context", lambda: outside)
    (pool,) = pools_of("cuda-two-nodes")
    options = LLMServer.get_deployment_options(pool)
    assert options["placement_group_strategy"] == "STRICT_SPREAD"
    assert options["placement_group_bundles"] == [{"CPU": 1, "GPU": 1}, {"GPU": 1}]


def test_the_names_read_from_source_are_the_fields() -> None:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.entrypoints.openai.cli_args import FrontendArgs

    names = engine_arguments._names()
    assert names["engine"] == {field.name for field in dataclasses.fields(AsyncEngineArgs)}
    assert names["frontend"] | names["server"] == {
        field.name for field in dataclasses.fields(FrontendArgs)
    }


def test_a_wrong_configuration_is_refused() -> None:
    from ray.llm._internal.serve.serving_patterns.prefill_decode.builder import PDServingArgs

    (app,) = config_of("local-pd")["applications"]
    del app["args"]["decode_config"]["engine_kwargs"]["kv_transfer_config"]
    with pytest.raises(ValidationError, match="kv_transfer_config is required"):
        PDServingArgs.model_validate(app["args"])
    prefill = pools_of("local-pd")[0]
    prefill.engine_kwargs["replcas"] = 1
    with pytest.raises(ValueError, match="Unknown engine argument: replcas"):
        prefill.get_engine_config()
