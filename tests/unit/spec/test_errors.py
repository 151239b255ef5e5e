"""The exact words in which a wrong spec is refused, and that nothing else is said."""

import pytest

from rayspan.errors import InputError
from rayspan.spec import parse_spec

MODEL = "model: {id: m, source: org/m}\n"
SPLIT = MODEL + "serving:\n  kind: prefill-decode\n"
CUDA = MODEL + "target: {device: cuda}\n"
WHOLE = MODEL + "serving: {kind: colocated}\n"
POOL_FIELDS = (
    "block_size, engine, gpu_share, kv_cache, max_num_batched_tokens, max_num_seqs, "
    "pipeline_parallel, placement, replicas, tensor_parallel"
)

ONE_FAULT = {
    # Keys.
    SPLIT + "  prefil: {}\n": (
        '4:3: serving.prefil: unknown field; did you mean "prefill"? '
        "allowed: decode, kind, kv_lease_s, prefill, server, transport"
    ),
    SPLIT + "  decode: {replcas: 2}\n": (
        f'4:12: serving.decode.replcas: unknown field; did you mean "replicas"? '
        f"allowed: {POOL_FIELDS}"
    ),
    SPLIT + "  decode: {tp: 2}\n": (
        f'4:12: serving.decode.tp: unknown field; did you mean "tensor_parallel"? '
        f"allowed: {POOL_FIELDS}"
    ),
    SPLIT + "  decode: {max-num-seqs: 2}\n": (
        f'4:12: serving.decode.max-num-seqs: unknown field; did you mean "max_num_seqs"? '
        f"allowed: {POOL_FIELDS}"
    ),
    SPLIT + "  decode: {swap_space: 2}\n": (
        f"4:12: serving.decode.swap_space: unknown field; allowed: {POOL_FIELDS}"
    ),
    SPLIT + "  decode: {gpu_memory_utilization: 0.5}\n": (
        f"4:12: serving.decode.gpu_memory_utilization: unknown field; allowed: {POOL_FIELDS}\n"
        "  fix: put engine arguments under engine:"
    ),
    WHOLE.replace("model:", "modle:"): (
        '1:1: modle: unknown field; did you mean "model"? '
        "allowed: model, name, serving, stack, target"
    ),
    MODEL + "serving: {kind: colocated, prefill: {}}\n": (
        f"2:28: serving.prefill: unknown field; "
        f"allowed: {POOL_FIELDS.replace('kv_cache,', 'kind, kv_cache,')}"
    ),
    # Missing.
    MODEL: "1:1: serving: missing, required: the pattern: prefill and decode apart, or colocated",
    "model: {id: m}\nserving: {kind: colocated}\n": (
        "1:1: model.source: missing, required: where the weights are: builtin:smollm2-135m, "
        "a hub id, or a local folder that begins with /, ./, ../ or ~ "
        "(relative to where the command runs)"
    ),
    MODEL + "serving: {}\n": "2:1: serving.kind: missing; allowed: colocated, prefill-decode",
    # Kinds.
    MODEL + "serving: {kind: collocated, prefill: 1}\n": (
        '2:17: serving.kind: found "collocated", allowed: colocated, prefill-decode; '
        'did you mean "colocated"?'
    ),
    MODEL + "serving: {kind: [colocated]}\n": (
        "2:11: serving.kind: found a list, allowed: colocated, prefill-decode"
    ),
    MODEL + "serving: {kind: disaggregated}\n": (
        '2:17: serving.kind: found "disaggregated", allowed: colocated, prefill-decode; '
        'did you mean "prefill-decode"?'
    ),
    WHOLE + "target: {kind: eks, region: us-west-2, zone: us-west-2a}\n": (
        '3:16: target.kind: found "eks", allowed: local; this version serves on this machine only'
    ),
    WHOLE + "target: {kind: remote}\n": '3:16: target.kind: found "remote", allowed: local',
    SPLIT + "  transport: {kind: udp}\n": (
        '4:21: serving.transport.kind: found "udp", allowed: ucx, tcp, efa'
    ),
    # Words and numbers.
    WHOLE + "target: {device: gpu}\n": (
        '3:18: target.device: found "gpu", allowed: cpu, cuda; did you mean "cuda"?'
    ),
    WHOLE.replace("org/m}", "org/m, dtype: bf16}"): (
        '1:38: model.dtype: found "bf16", allowed: auto, float32, bfloat16, float16; '
        'did you mean "bfloat16"?'
    ),
    WHOLE + "target: {port: 0}\n": (
        "3:16: target.port: found 0, allowed: a whole number from 1 to 65535"
    ),
    WHOLE + "target: {port: '80'}\n": (
        '3:16: target.port: found "80", allowed: a whole number from 1 to 65535'
    ),
    WHOLE + "target: {port: 80.5}\n": (
        "3:16: target.port: found 80.5, allowed: a whole number from 1 to 65535"
    ),
    WHOLE + "target: {threads_per_engine: yes}\n": (
        "3:30: target.threads_per_engine: found yes, which YAML reads as true, "
        "allowed: a whole number from 1 to 1024"
    ),
    WHOLE + "target: {enforce_eager: 1}\n": (
        "3:25: target.enforce_eager: found 1, allowed: true or false"
    ),
    WHOLE + "target: {host: '::1'}\n": (
        '3:16: target.host: found "::1", allowed: an IPv4 address or a host name\n'
        "  fix: write 127.0.0.1"
    ),
    WHOLE + "target: {host: 300.0.0.1}\n": (
        '3:16: target.host: found "300.0.0.1", allowed: an IPv4 address or a host name\n'
        "  fix: write 127.0.0.1"
    ),
    WHOLE.replace("id: m", "id: 12"): (
        '1:13: model.id: found 12, allowed: text\n  fix: write it in quotes: "12"'
    ),
    WHOLE.replace("id: m", "id: on"): (
        "1:13: model.id: found on, which YAML reads as true, allowed: text\n"
        '  fix: write it in quotes: "on"'
    ),
    WHOLE.replace("id: m", "id: a:b"): (
        '1:13: model.id: found "a:b", allowed: letters, digits, ".", "_", "-", "/" between parts, '
        "at most 96 characters\n  fix: choose a name such as smollm2-135m or Qwen/Qwen3-0.6B"
    ),
    WHOLE + "name: My_Model\n": (
        '3:7: name: found "My_Model", allowed: lower-case letters, digits and "-", at most 40 '
        "characters"
    ),
    # Model sources.
    WHOLE.replace("org/m", "builtin:smollm2"): (
        '1:24: model.source: found "builtin:smollm2", allowed: builtin:smollm2-135m; '
        'did you mean "builtin:smollm2-135m"?'
    ),
    WHOLE.replace("org/m", "s3://bucket/m"): (
        '1:24: model.source: found "s3://bucket/m", allowed: builtin:NAME, a hub id, or a local '
        "folder; addresses are not read by this version\n"
        "  fix: download the model into a folder and give its path"
    ),
    WHOLE.replace("org/m", "models/org/m"): (
        '1:24: model.source: found "models/org/m", allowed: builtin:NAME, a hub id such as '
        "Qwen/Qwen3-0.6B, or a folder that begins with /, ./, ../, ~\n"
        "  fix: write ./ before a folder's relative path"
    ),
    # Sizes and mappings.
    SPLIT + "  decode: {kv_cache: 256Mb}\n": (
        '4:22: serving.decode.kv_cache: "256Mb" has the unit "Mb", which means bits: write "256MB"'
    ),
    SPLIT + "  decode: {kv_cache: 1kB}\n": (
        '4:22: serving.decode.kv_cache: found "1kB", allowed: a size such as "256MiB", '
        '"1.5GiB" or "200MB", or a whole number of bytes from 1MiB to 16TiB'
    ),
    SPLIT + "  decode: {kv_cache: [1]}\n": (
        '4:12: serving.decode.kv_cache: found a list, allowed: a size such as "256MiB", '
        '"1.5GiB" or "200MB", or a whole number of bytes from 1MiB to 16TiB'
    ),
    SPLIT + "  decode:\n": (
        "4:10: serving.decode: found nothing, allowed: a mapping\n"
        "  fix: write {} to take every default, or leave the field out"
    ),
    MODEL + "serving: colocated\n": '2:10: serving: found "colocated", allowed: a mapping',
    MODEL + "serving: [colocated]\n": "2:1: serving: found a list, allowed: a mapping",
    SPLIT + "  decode: {engine: [a]}\n": (
        "4:12: serving.decode.engine: found a list, allowed: a mapping"
    ),
    # Engine arguments.
    SPLIT + "  decode: {engine: {gpu_memory_utilisation: 0.5}}\n": (
        "4:21: serving.decode.engine.gpu_memory_utilisation: vLLM has no such argument; "
        'did you mean "gpu_memory_utilization"?'
    ),
    SPLIT + "  decode: {engine: {max_model_len: 10}}\n": (
        "4:21: serving.decode.engine.max_model_len: has a field of its own: use model.max_model_len"
    ),
    SPLIT + "  decode: {engine: {block_size: 10}}\n": (
        "4:21: serving.decode.engine.block_size: has a field of its own: "
        "use serving.decode.block_size"
    ),
    MODEL + "serving: {kind: colocated, engine: {block_size: 10}}\n": (
        "2:37: serving.engine.block_size: has a field of its own: use serving.block_size"
    ),
    SPLIT + "  decode: {engine: {kv_transfer_config: {}}}\n": (
        "4:21: serving.decode.engine.kv_transfer_config: has a field of its own: "
        "use serving.transport and serving.kv_lease_s"
    ),
    SPLIT + "  decode: {engine: {distributed_executor_backend: mp}}\n": (
        "4:21: serving.decode.engine.distributed_executor_backend: cannot be set: "
        "Ray Serve LLM chooses it"
    ),
    SPLIT + "  decode: {engine: {pipeline_parallel_size: 2}}\n": (
        "4:21: serving.decode.engine.pipeline_parallel_size: has a field of its own: "
        "use serving.decode.pipeline_parallel"
    ),
    SPLIT + "  decode: {engine: {nnodes: 2}}\n": (
        "4:21: serving.decode.engine.nnodes: cannot be set: "
        "Ray places an engine's devices, by placement"
    ),
    SPLIT + "  decode: {engine: {data_parallel_backend: ray}}\n": (
        "4:21: serving.decode.engine.data_parallel_backend: cannot be set: "
        "data parallelism is serving.decode.replicas"
    ),
    SPLIT + "  decode: {engine: {api_key: [x]}}\n": (
        "4:21: serving.decode.engine.api_key: cannot be set: "
        "Ray Serve answers HTTP, so vLLM would ignore it"
    ),
    # Rules between fields.
    SPLIT + "  prefill: {block_size: 16}\n  decode: {block_size: 24}\n": (
        "5:24: serving.decode.block_size: found 24, allowed: a multiple of "
        "serving.prefill.block_size, which is 16"
    ),
    SPLIT + "  prefill: {block_size: 16}\n": (
        "2:1: serving.decode: block_size is left to the engine, and the other pool has 16; "
        "allowed: both or neither\n  fix: write block_size: 16"
    ),
    SPLIT + "  prefill: {block_size: 16, tensor_parallel: 2}\n  decode: {block_size: 32}\n": (
        "5:24: serving.decode.block_size: found 32, allowed: 16 as in prefill, which is split over "
        "more devices"
    ),
    SPLIT + "  prefill: {tensor_parallel: 2}\n  decode: {tensor_parallel: 3}\n": (
        "5:29: serving.decode.tensor_parallel: found 3, allowed: a multiple or a divisor of "
        "serving.prefill.tensor_parallel, which is 2"
    ),
    SPLIT + "  decode: {engine: {kv_cache_dtype: fp8}}\n": (
        "4:37: serving.decode.engine.kv_cache_dtype: found 'fp8', allowed: the same as in "
        "serving.prefill.engine, which has nothing"
    ),
    SPLIT + "  prefill: {engine: {chat_template: x}}\n": (
        "2:1: serving.decode.engine.chat_template: found nothing, allowed: the same as in "
        "serving.prefill.engine, which has 'x'"
    ),
    SPLIT + "  decode: {max_num_seqs: 64, max_num_batched_tokens: 32}\n": (
        "4:54: serving.decode.max_num_batched_tokens: found 32, allowed: at least max_num_seqs, "
        "which is 64"
    ),
    SPLIT + "  prefill: {pipeline_parallel: 2}\n": (
        "4:32: serving.prefill.pipeline_parallel: found 2, allowed under prefill-decode: 1, by "
        "vLLM's NIXL connector: decode would read the layers of the first stage alone\n"
        "  fix: use tensor_parallel, or serving.kind: colocated"
    ),
    SPLIT + "  decode: {pp: 2}\n": (
        '4:12: serving.decode.pp: unknown field; did you mean "pipeline_parallel"? '
        f"allowed: {POOL_FIELDS}"
    ),
    SPLIT + "  decode: {pipeline_parallel: 2}\n": (
        "4:31: serving.decode.pipeline_parallel: found 2, allowed under prefill-decode: 1, by "
        "vLLM's NIXL connector: it takes the KV cache over on one stage alone\n"
        "  fix: use tensor_parallel, or serving.kind: colocated"
    ),
    MODEL + "serving: {kind: colocated, tensor_parallel: 2, placement: strict-spread}\n": (
        '2:59: serving.placement: found "strict-spread", allowed on cpu: pack, strict-pack; Ray '
        "Serve LLM runs CPU engines with vLLM's mp executor, which keeps all devices of an engine "
        "on one node\n  fix: write target.device: cuda, or leave placement out"
    ),
    MODEL + "serving: {kind: colocated, placement: spread}\ntarget: {device: cuda}\n": (
        '2:39: serving.placement: found "spread", allowed: pack, for an engine here has one '
        "device\n  fix: leave placement out, or raise tensor_parallel or pipeline_parallel"
    ),
    MODEL + "serving: {kind: colocated, placement: STRICT_PACK}\n": (
        '2:39: serving.placement: found "STRICT_PACK", allowed: pack, strict-pack, spread, '
        'strict-spread; did you mean "strict-pack"?'
    ),
    MODEL + "serving: {kind: colocated, gpu_share: 0.5}\n": (
        "2:39: serving.gpu_share: found 0.5, allowed on cpu: 1, for there are no GPUs to share"
    ),
    MODEL + "serving: {kind: colocated, gpu_share: 2}\n": (
        "2:39: serving.gpu_share: found 2, allowed: a number from 0.01 to 1.0"
    ),
    CUDA + "serving: {kind: colocated, gpu_share: 0.5}\n": (
        "3:39: serving.gpu_share: found 0.5, allowed: at least engine.gpu_memory_utilization, "
        "which is 0.92: an engine must fit into its share of the GPU's memory\n"
        "  fix: write engine: {gpu_memory_utilization: 0.45}"
    ),
    CUDA + "serving: {kind: colocated, gpu_share: 0.5, tensor_parallel: 2}\n": (
        "3:39: serving.gpu_share: found 0.5, allowed: 1 for an engine of 2 devices, which could "
        "otherwise get one GPU twice"
    ),
    CUDA.replace("device", "port: 28007, device") + "serving: {kind: colocated, replicas: 2}\n": (
        "2:16: target.port: 28007 is a port on which colocated engines start (28000 to 28007)"
    ),
    SPLIT + "  transport: {kind: efa}\n": (
        '4:21: serving.transport.kind: found "efa", allowed on a local target: ucx, tcp\n'
        "  fix: EFA does not carry the KV cache within one machine: use ucx"
    ),
    WHOLE + "target: {port: 8265}\n": "3:1: target.dashboard_port: 8265 is target.port too",
    SPLIT + "target: {port: 20000}\n": (
        "4:16: target.port: 20000 is a side-channel port of prefill (20000 to 20000)"
    ),
    SPLIT + "  decode: {replicas: 200, tensor_parallel: 16}\n": (
        "4:22: serving.decode.replicas: found 3200 devices in the pool, allowed: 2000, "
        "one side channel each"
    ),
}


@pytest.mark.parametrize(("text", "message"), ONE_FAULT.items(), ids=list(ONE_FAULT.values()))
def test_one_fault(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(text, "spec.yaml")
    assert str(caught.value) == f"spec.yaml:{message}"


def test_a_stack_row_is_checked() -> None:
    with pytest.raises(InputError, match=r"^spec.yaml:3:8: stack: .* is not known") as caught:
        parse_spec(WHOLE + "stack: ray9-vllm9\n", "spec.yaml")
    assert caught.value.exit_code == 2
    cuda = parse_spec(WHOLE + "target: {device: cuda}\n", "spec.yaml").stack
    with pytest.raises(InputError) as caught:
        parse_spec(f"{WHOLE}stack: {cuda}\n", "spec.yaml")
    assert caught.value.message == (
        f'spec.yaml:3:8: stack: found "{cuda}", which is for cuda; target.device is cpu'
    )


def test_all_faults_at_once_in_the_order_of_the_file() -> None:
    text = (
        "target: {prot: 1}\n"
        "serving:\n  kind: prefill-decode\n"
        "  prefill: {replicas: 0}\n  decode: {kv_cache: 3}\n"
        "model: {id: 7}\n"
    )
    with pytest.raises(InputError) as caught:
        parse_spec(text, "spec.yaml")
    lines = str(caught.value).splitlines()
    assert lines[0] == "spec.yaml: 5 faults"
    assert [line.split(": ")[:2] for line in lines[1:] if "fix" not in line] == [
        ["  spec.yaml:1:10", "target.prot"],
        ["  spec.yaml:4:23", "serving.prefill.replicas"],
        ["  spec.yaml:5:22", "serving.decode.kv_cache"],
        ["  spec.yaml:6:1", "model.source"],
        ["  spec.yaml:6:13", "model.id"],
    ]
    assert lines[-1] == '      fix: write it in quotes: "7"'


def test_only_the_first_of_very_many_are_shown() -> None:
    fields = "".join(f"strange{n}: 1\n" for n in range(30))
    with pytest.raises(InputError) as caught:
        parse_spec(WHOLE + fields, "spec.yaml")
    lines = str(caught.value).splitlines()
    assert (lines[0], len(lines), lines[-1]) == ("spec.yaml: 30 faults", 22, "  and 10 more")


def test_what_a_terminal_would_obey_is_not_shown() -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(WHOLE + 'name: "\\e[31m' + "x" * 100 + '"\n', "spec.yaml")
    assert "\x1b" not in str(caught.value)
    assert "x" * 100 not in str(caught.value)
    with pytest.raises(InputError) as caught:
        parse_spec(WHOLE + '"\\e[31m": 1\n', "spec.yaml")
    assert "\x1b" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        parse_spec(WHOLE + "target: {port: " + "9" * 5000 + "}\n", "spec.yaml")
    assert len(str(caught.value)) < 200
