"""What the rendered configuration holds, for any valid spec."""

from typing import Any

import pytest
import yaml
from hypothesis import given

from rayspan.render import render_serve_config
from rayspan.spec import Spec, builtin_spec, parse_spec
from tests.unit.spec.valid_specs import anything, specs


def pools_of(config: dict[str, Any]) -> list[dict[str, Any]]:
    args = config["applications"][0]["args"]
    return args.get("llm_configs") or [args["prefill_config"], args["decode_config"]]


def rendered(text: str) -> list[dict[str, Any]]:
    model = "model: {id: m, source: org/m}\n"
    return pools_of(render_serve_config(parse_spec(model + text, "s"), "/m").to_dict())


@given(specs())
@anything
def test_any_spec_renders_to_plain_yaml(data: dict[str, Any]) -> None:
    config = render_serve_config(Spec.model_validate(data), model_source="/models/m")
    assert yaml.safe_load(config.to_yaml()) == config.to_dict()
    assert "&id" not in config.to_yaml()
    assert len(pools_of(config.to_dict())) == len(Spec.model_validate(data).pools())


@given(specs())
@anything
def test_equal_specs_give_equal_bytes(data: dict[str, Any]) -> None:
    def reordered(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: reordered(value[name]) for name in reversed(value)}

    def text(data: dict[str, Any]) -> str:
        return render_serve_config(Spec.model_validate(data), model_source="/m").to_yaml()

    assert text(data) == text(reordered(data))


@given(specs())
@anything
def test_raw_arguments_pass_through_and_no_more_is_lost(data: dict[str, Any]) -> None:
    spec = Spec.model_validate(data)
    config = render_serve_config(spec, model_source="/m").to_dict()
    for pool, written in zip(pools_of(config), spec.pools().values(), strict=True):
        assert written.engine.items() <= pool["engine_kwargs"].items()
        assert pool["deployment_config"]["num_replicas"] == written.replicas


def test_each_copy_is_ones_own() -> None:
    config = render_serve_config(builtin_spec(), "/m")
    config.to_dict()["applications"].clear()
    assert config.to_dict()["applications"]


def test_prefill_produces_and_decode_consumes() -> None:
    prefill, decode = pools_of(render_serve_config(builtin_spec(), "/m").to_dict())
    transfer = [pool["engine_kwargs"]["kv_transfer_config"] for pool in (prefill, decode)]
    assert [config["kv_role"] for config in transfer] == ["kv_producer", "kv_consumer"]
    for config in transfer:
        assert config["kv_load_failure_policy"] == "fail"
        assert config["kv_connector_extra_config"] == {"backends": ["UCX"], "kv_lease_duration": 60}
    ports = [pool["experimental_configs"] for pool in (prefill, decode)]
    assert [port["NIXL_SIDE_CHANNEL_PORT_BASE"] for port in ports] == [20000, 22000]


def test_colocated_engines_hand_nothing_over() -> None:
    (pool,) = rendered("serving: {kind: colocated}")
    assert "kv_transfer_config" not in pool["engine_kwargs"]
    assert pool["experimental_configs"] == {"stream_batching_interval_ms": 0}
    assert not [name for name in pool["runtime_env"]["env_vars"] if name.startswith("UCX")]


def test_tcp_is_asked_of_ucx() -> None:
    for device, wanted in (("cpu", "tcp"), ("cuda", "tcp,cuda_copy")):
        for pool in rendered(
            "serving: {kind: prefill-decode, transport: {kind: tcp}}\n"
            f"target: {{kind: local, device: {device}}}"
        ):
            assert pool["runtime_env"]["env_vars"]["UCX_TLS"] == wanted


def test_the_wire_stays_on_loopback_when_the_endpoint_does() -> None:
    for host, wanted in (("127.0.0.1", "lo"), ("0.0.0.0", None)):
        for pool in rendered(
            f"serving: {{kind: prefill-decode}}\ntarget: {{kind: local, host: {host}}}"
        ):
            assert pool["runtime_env"]["env_vars"].get("UCX_NET_DEVICES") == wanted


def test_the_wire_leaves_loopback_where_an_engine_leaves_its_node() -> None:
    wide = "{tensor_parallel: 2, placement: PLACE}"
    for placement, wanted in (("strict-pack", "lo"), ("spread", None), ("strict-spread", None)):
        pool = wide.replace("PLACE", placement)
        for config in rendered(
            f"serving: {{kind: prefill-decode, prefill: {pool}, decode: {pool}}}\n"
            "target: {kind: local, device: cuda}"
        ):
            assert config["runtime_env"]["env_vars"].get("UCX_NET_DEVICES") == wanted


def test_cuda_keeps_rays_own_bundles() -> None:
    for pool in rendered("serving: {kind: prefill-decode}\ntarget: {kind: local, device: cuda}"):
        assert not {"accelerator_config", "placement_group_config"} & set(pool)
        assert "ray_actor_options" not in pool["deployment_config"]
        assert "kv_buffer_device" not in pool["engine_kwargs"]["kv_transfer_config"]
        assert "OMP_NUM_THREADS" not in pool["runtime_env"]["env_vars"]


def test_a_split_engine_has_a_bundle_for_each_device() -> None:
    (pool,) = rendered("serving: {kind: colocated, tensor_parallel: 3}")
    bundles = [{"CPU": 1}] * 3
    assert pool["placement_group_config"] == {"bundles": bundles, "strategy": "STRICT_PACK"}
    (pool,) = rendered("serving: {kind: colocated, tensor_parallel: 2, pipeline_parallel: 2}")
    assert len(pool["placement_group_config"]["bundles"]) == 4
    assert pool["engine_kwargs"]["pipeline_parallel_size"] == 2


@pytest.mark.parametrize(
    ("placement", "strategy"),
    [
        ("strict-pack", "STRICT_PACK"),
        ("spread", "SPREAD"),
        ("strict-spread", "STRICT_SPREAD"),
    ],
)
def test_placement_is_rays_strategy(placement: str, strategy: str) -> None:
    (pool,) = rendered(
        f"serving: {{kind: colocated, tensor_parallel: 2, placement: {placement}}}\n"
        "target: {kind: local, device: cuda}"
    )
    wanted = {"bundle_per_worker": {"GPU": 1}, "strategy": strategy}
    assert pool["placement_group_config"] == wanted


def test_engines_that_share_a_gpu_ask_for_their_share() -> None:
    half = "{gpu_share: 0.5, engine: {gpu_memory_utilization: 0.4}}"
    for pool in rendered(
        f"serving: {{kind: prefill-decode, prefill: {half}, decode: {half}}}\n"
        "target: {kind: local, device: cuda}"
    ):
        assert pool["placement_group_config"] == {"bundle_per_worker": {"GPU": 0.5}}
        assert pool["runtime_env"]["env_vars"]["VLLM_RAY_PER_WORKER_GPUS"] == "0.5"


def test_engines_on_gpus_have_ports_and_caches_of_their_own() -> None:
    prefill, decode = rendered(
        "serving: {kind: prefill-decode, decode: {engine: {worker_cls: mine.Worker}}}\n"
        "target: {kind: local, device: cuda}"
    )
    first = [pool["callback_config"]["callback_kwargs"]["first_port"] for pool in (prefill, decode)]
    assert first == [24000, 26000]
    workers = [pool["engine_kwargs"]["worker_cls"] for pool in (prefill, decode)]
    assert workers == ["rayspan.serving.gpu_worker.GpuWorker", "mine.Worker"]
    for pool in rendered("serving: {kind: prefill-decode}"):
        assert "callback_config" not in pool
        assert "worker_cls" not in pool["engine_kwargs"]


def test_compiling_engines_may_compile() -> None:
    (pool,) = rendered("serving: {kind: colocated}\ntarget: {kind: local, enforce_eager: false}")
    assert "TORCHDYNAMO_DISABLE" not in pool["runtime_env"]["env_vars"]
    assert pool["engine_kwargs"]["enforce_eager"] is False
