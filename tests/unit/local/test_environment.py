from pathlib import Path

import pytest

from rayspan.errors import WorldError
from rayspan.local import environment
from rayspan.render import render_serve_config
from rayspan.spec import builtin_spec, parse_spec


def test_what_all_pools_set_is_there_from_the_start() -> None:
    config = render_serve_config(builtin_spec(), "/m").to_dict()
    shared = environment.shared_environment(config)
    assert shared["OMP_NUM_THREADS"] == "1"
    decode = config["applications"][0]["args"]["decode_config"]
    decode["runtime_env"]["env_vars"]["OMP_NUM_THREADS"] = "4"
    assert "OMP_NUM_THREADS" not in environment.shared_environment(config)


def test_colocated_pools_are_read_too() -> None:
    text = "model: {id: m, source: a/b}\nserving: {kind: colocated, replicas: 3}\n"
    spec = parse_spec(text, "spec.yaml")
    config = render_serve_config(spec, "/m").to_dict()
    assert environment.shared_environment(config)["VLLM_CPU_OMP_THREADS_BIND"] == "nobind"
    assert environment.logical_cpus(spec) == 4
    cut = parse_spec(text.replace("replicas: 3", "tensor_parallel: 2, pipeline_parallel: 3"), "s")
    assert environment.logical_cpus(cut) == 7


def test_byte_code_is_written_and_one_thread_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    env = environment.cluster_environment(builtin_spec(), {"A": "b"}, alone=True)
    assert "PYTHONDONTWRITEBYTECODE" not in env
    assert env["A"] == "b"
    assert env["OPENBLAS_NUM_THREADS"] == "1"
    assert env["UCX_LOG_LEVEL"] == "info"  # without it, no engine says which lanes it uses


def test_ray_is_told_loopback(tmp_path: Path) -> None:
    settings = environment.head_settings(builtin_spec(), tmp_path)
    assert settings["ray_settings"]["_node_ip_address"] == "127.0.0.1"
    assert settings["ray_settings"]["dashboard_host"] == "127.0.0.1"
    assert settings["ray_settings"]["_temp_dir"] == str(tmp_path / "ray")
    assert settings["serve_settings"]["http_options"] == {"host": "127.0.0.1", "port": 8000}


def test_a_missing_stack_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    environment.check_stack_installed()
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(WorldError, match="ray is not installed"):
        environment.check_stack_installed()
