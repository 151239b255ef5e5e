import json
import os
import socket
from pathlib import Path

import pytest

from rayspan.adapters import processes
from rayspan.errors import InputError, WorldError
from rayspan.local import host, model_source
from rayspan.spec import Spec, builtin_spec, parse_spec
from tests.unit.facts.test_shape import DELTA, LLAMA

MINE = "model: {{id: m, source: {source}}}\nserving: {{kind: colocated, engine: {engine}}}\n"


def spec_for(source: Path, engine: str = "{}") -> Spec:
    return parse_spec(MINE.format(source=source, engine=engine), "spec.yaml")


def write_model(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_text("{}")
    return folder


def test_a_whole_folder_is_taken(tmp_path: Path) -> None:
    write_model(tmp_path, "config.json", "model.safetensors", "tokenizer.json")
    assert model_source.resolve_model(spec_for(tmp_path)) == str(tmp_path)
    assert model_source.weight_bytes(str(tmp_path)) == 2


def test_a_hub_id_is_left_to_the_engine() -> None:
    assert model_source.resolve_model(spec_for(Path("Qwen/Qwen3-0.6B"))) == "Qwen/Qwen3-0.6B"
    assert model_source.weight_bytes("Qwen/Qwen3-0.6B") == 0


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (("model.safetensors", "tokenizer.json"), "config.json"),
        (("config.json", "tokenizer.json"), r"weights \(\*.safetensors\)"),
        (("config.json", "model.safetensors"), "a tokenizer"),
    ],
)
def test_a_folder_is_refused_for_what_it_lacks(
    tmp_path: Path, names: tuple[str, ...], missing: str
) -> None:
    write_model(tmp_path, *names)
    with pytest.raises(InputError, match=f"has no {missing}"):
        model_source.resolve_model(spec_for(tmp_path))


def test_random_weights_need_no_files(tmp_path: Path) -> None:
    write_model(tmp_path, "config.json", "tokenizer.json")
    assert model_source.resolve_model(spec_for(tmp_path, "{load_format: dummy}"))


def test_memory_is_judged_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = host.memory_needed_bytes(builtin_spec(), "/nowhere")
    monkeypatch.setattr(processes, "available_memory_bytes", lambda: needed)
    host.check_memory(builtin_spec(), "/nowhere")
    monkeypatch.setattr(processes, "available_memory_bytes", lambda: needed - 1)
    with pytest.raises(WorldError, match=r"GiB of memory and .* GiB are available"):
        host.check_memory(builtin_spec(), "/nowhere")


@pytest.mark.parametrize(
    ("kind", "serving", "flags", "refused"),
    [
        ("hybrid", "prefill-decode", ["amx_tile"], True),
        ("hybrid", "prefill-decode", [], False),
        ("hybrid", "colocated", ["amx_tile"], False),
        ("full", "prefill-decode", ["amx_tile"], False),
    ],
)
def test_convolution_states_are_not_handed_over_on_amx(  # noqa: PLR0917  (a table)
    kind: str,
    serving: str,
    flags: list[str],
    refused: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(DELTA if kind == "hybrid" else LLAMA))
    monkeypatch.setattr(processes, "cpu_has", lambda flag: flag in flags)
    text = f"model: {{id: m, source: {tmp_path}}}\nserving: {{kind: {serving}}}\n"
    spec = parse_spec(text, "spec.yaml")
    if not refused:
        host.check_cpu(spec, str(tmp_path))
        return
    with pytest.raises(WorldError, match="keeps convolution states"):
        host.check_cpu(spec, str(tmp_path))


def test_memory_counts_each_device() -> None:
    def needed(fields: str) -> int:
        serving = f"serving: {{kind: colocated, kv_cache: 1GiB, {fields}}}\n"
        spec = parse_spec("model: {id: m, source: a/b}\n" + serving, "spec.yaml")
        return host.memory_needed_bytes(spec, "/nowhere")

    one = needed("replicas: 1")
    each = needed("replicas: 2") - one
    assert needed("tensor_parallel: 2") == one + each
    assert needed("tensor_parallel: 2, pipeline_parallel: 2") == one + 3 * each


def test_one_machine_is_one_node() -> None:
    text = (
        "model: {id: m, source: a/b}\ntarget: {device: cuda}\n"
        "serving: {kind: colocated, pipeline_parallel: 2, placement: PLACE}\n"
    )
    host.check_nodes(parse_spec(text.replace("PLACE", "spread"), "spec.yaml"))
    with pytest.raises(WorldError, match="each colocated engine is to lie on 2 nodes"):
        host.check_nodes(parse_spec(text.replace("PLACE", "strict-spread"), "spec.yaml"))


def test_disk_is_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    host.check_disk(tmp_path)
    monkeypatch.setattr(processes, "free_disk_bytes", lambda _folder: 1 << 20)
    with pytest.raises(WorldError, match=r"has 0.0 GiB free"):
        host.check_disk(tmp_path)


@pytest.mark.loopback
def test_a_taken_port_is_named_with_its_field() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        text = MINE.format(source="a/b", engine="{}") + f"target: {{kind: local, port: {port}}}"
        with pytest.raises(WorldError) as error:
            host.check_ports(parse_spec(text, "spec.yaml"))
    assert f"port {port} for the endpoint is taken by" in str(error.value)
    assert f"(pid {os.getpid()})" in str(error.value)
    assert "target.port" in str(error.value)
