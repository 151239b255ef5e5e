"""One pool of a spec as the arguments of an LLMConfig of Ray Serve LLM."""

from typing import Any

from rayspan.spec import Pool, PrefillDecode, Role, Spec

# Two engines of one host must not meet here: Ray adds the replica's rank times its devices.
SIDE_CHANNEL_BASES = {"prefill": 20000, "decode": 22000}
_KV_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}
_HEALTH_CHECK_TIMEOUT_S = 60


def pool_args(spec: Spec, role: Role, pool: Pool, model_source: str) -> dict[str, Any]:
    """Arguments of the LLMConfig for `role`."""
    args: dict[str, Any] = {
        "model_loading_config": {"model_id": spec.model.id, "model_source": model_source},
        "deployment_config": {
            "num_replicas": pool.replicas,
            "health_check_timeout_s": _HEALTH_CHECK_TIMEOUT_S,
        },
        "experimental_configs": {"stream_batching_interval_ms": 0},
        "log_engine_metrics": True,
        "engine_kwargs": _engine_kwargs(spec, role, pool),
    }
    if base := SIDE_CHANNEL_BASES.get(role):
        args["experimental_configs"]["NIXL_SIDE_CHANNEL_PORT_BASE"] = base
    if spec.target.device == "cpu":
        args["accelerator_config"] = {"kind": "cpu"}
        args["placement_group_config"] = {"bundles": [{"CPU": 1}] * pool.tensor_parallel}
        args["deployment_config"]["ray_actor_options"] = {"num_cpus": 0}
    if env := _environment(spec):
        args["runtime_env"] = {"env_vars": env}
    return args


def _engine_kwargs(spec: Spec, role: Role, pool: Pool) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "dtype": spec.model.dtype,
        "max_model_len": spec.model.max_model_len,
        "tensor_parallel_size": pool.tensor_parallel,
        "block_size": pool.block_size,
        "kv_cache_memory_bytes": None if pool.kv_cache is None else int(pool.kv_cache),
        "max_num_seqs": pool.max_num_seqs,
        "max_num_batched_tokens": pool.max_num_batched_tokens,
        "enforce_eager": spec.eager,
    }
    if isinstance(spec.serving, PrefillDecode):
        chosen["kv_transfer_config"] = _kv_transfer_config(spec, spec.serving, role)
    return {key: value for key, value in (chosen | pool.engine).items() if value is not None}


def _kv_transfer_config(spec: Spec, serving: PrefillDecode, role: Role) -> dict[str, Any]:
    """The failure policy stands at the top and the backend one level down: vLLM 0.26 ignores the
    one, and refuses the other, in each other's place."""
    config: dict[str, Any] = {
        "kv_connector": "NixlConnector",
        "kv_role": _KV_ROLES[role],
        "kv_load_failure_policy": "fail",
        "kv_connector_extra_config": {
            "backends": ["UCX"],
            "kv_lease_duration": serving.kv_lease_s,
        },
    }
    if spec.target.device == "cpu":
        config["kv_buffer_device"] = "cpu"
    return config


def _environment(spec: Spec) -> dict[str, str]:
    env: dict[str, str] = {}
    if isinstance(spec.serving, PrefillDecode):
        if spec.target.host in ("127.0.0.1", "localhost"):
            env["UCX_NET_DEVICES"] = "lo"
        if spec.serving.transport.kind == "tcp":
            env["UCX_TLS"] = "tcp"
    if spec.target.device == "cpu":
        # Engines that share cores must not all pin their threads to the same ones.
        env["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
        env["OMP_NUM_THREADS"] = str(spec.target.threads_per_engine)
        if spec.eager:
            env["TORCHDYNAMO_DISABLE"] = "1"  # vLLM compiles its sampler even so
    return env
