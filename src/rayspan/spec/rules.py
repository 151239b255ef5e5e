"""Rules between fields. What vLLM would refuse at the first request, or never, is refused here."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rayspan.errors import InputError
from rayspan.spec.base import Fault, FieldPath, printable
from rayspan.spec.device_rules import find_device_faults, find_stage_faults
from rayspan.spec.engine_arguments import find_engine_faults
from rayspan.spec.pool import Pool, Role
from rayspan.spec.serving import SIDE_CHANNEL_BASES, STORE_BASES, STORE_PORTS, PrefillDecode
from rayspan.spec.target import LocalTarget
from rayspan.stack.row import find_row

if TYPE_CHECKING:
    from rayspan.spec.root import Spec

# vLLM's NIXL handshake compares the first ones, at the first request. The others decide which
# tokens a prompt becomes and what is computed from them: a difference means wrong answers.
_MUST_AGREE: Final = (
    "kv_cache_dtype",
    "attention_backend",
    "disable_hybrid_kv_cache_manager",
    "speculative_config",
    "quantization",
    "load_format",
    "revision",
    "code_revision",
    "hf_overrides",
    "trust_remote_code",
    "config_format",
    "tokenizer",
    "tokenizer_mode",
    "tokenizer_revision",
    "chat_template",
    "chat_template_content_format",
    "default_chat_template_kwargs",
)


def find_faults(spec: "Spec") -> Iterator[Fault]:
    """Everything wrong between the fields of a spec whose fields are right one by one."""
    for role, pool in spec.pools().items():
        yield from find_engine_faults(pool.engine, pool_path(role))
        yield from _batch_faults(pool, pool_path(role))
        yield from find_device_faults(pool, pool_path(role), spec.target.device)
    if isinstance(spec.serving, PrefillDecode):
        yield from _block_faults(spec.serving)
        yield from _parallel_faults(spec.serving)
        yield from find_stage_faults(spec.serving)
        yield from _agreement_faults(spec.serving)
        yield from _transport_faults(spec.serving)
    yield from _port_faults(spec)
    yield from _stack_faults(spec.stack, spec.target.device)


def pool_path(role: Role) -> FieldPath:
    """Where the pool of a role stands in a spec."""
    return ("serving",) if role == "colocated" else ("serving", role)


def _batch_faults(pool: Pool, path: FieldPath) -> Iterator[Fault]:
    tokens, seqs = pool.max_num_batched_tokens, pool.max_num_seqs
    if tokens is not None and seqs is not None and tokens < seqs:
        yield Fault(
            (*path, "max_num_batched_tokens"),
            f"found {tokens}, allowed: at least max_num_seqs, which is {seqs}",
        )


def _block_faults(serving: PrefillDecode) -> Iterator[Fault]:
    prefill, decode = serving.prefill, serving.decode
    path = ("serving", "decode", "block_size")
    if decode.block_size is None or prefill.block_size is None:
        if decode.block_size != prefill.block_size:
            lacks, has = ("decode", prefill) if decode.block_size is None else ("prefill", decode)
            yield Fault(
                ("serving", lacks),
                f"block_size is left to the engine, and the other pool has {has.block_size}; "
                "allowed: both or neither",
                f"write block_size: {has.block_size}",
            )
    elif decode.block_size % prefill.block_size:
        allowed = f"a multiple of serving.prefill.block_size, which is {prefill.block_size}"
        yield Fault(path, f"found {decode.block_size}, allowed: {allowed}")
    elif (
        prefill.tensor_parallel > decode.tensor_parallel and decode.block_size != prefill.block_size
    ):
        yield Fault(
            path,
            f"found {decode.block_size}, allowed: {prefill.block_size} as in prefill, which is "
            "split over more devices",
        )


def _parallel_faults(serving: PrefillDecode) -> Iterator[Fault]:
    prefill, decode = serving.prefill.tensor_parallel, serving.decode.tensor_parallel
    if max(prefill, decode) % min(prefill, decode):
        yield Fault(
            ("serving", "decode", "tensor_parallel"),
            f"found {decode}, allowed: a multiple or a divisor of serving.prefill.tensor_parallel, "
            f"which is {prefill}",
        )


def _agreement_faults(serving: PrefillDecode) -> Iterator[Fault]:
    prefill, decode = serving.prefill.engine, serving.decode.engine
    for name in _MUST_AGREE:
        if prefill.get(name) != decode.get(name):
            yield Fault(
                ("serving", "decode", "engine", name),
                f"found {_shown(decode, name)}, allowed: the same as in serving.prefill.engine, "
                f"which has {_shown(prefill, name)}",
            )


def _shown(engine: dict[str, Any], name: str) -> str:
    return printable(repr(engine[name])) if name in engine else "nothing"


def _transport_faults(serving: PrefillDecode) -> Iterator[Fault]:
    if serving.transport.kind == "efa":
        yield Fault(
            ("serving", "transport", "kind"),
            'found "efa", allowed on a local target: ucx, tcp',
            "EFA does not carry the KV cache within one machine: use ucx",
        )


def _port_faults(spec: "Spec") -> Iterator[Fault]:
    target = spec.target
    if target.port == target.dashboard_port:
        yield Fault(("target", "dashboard_port"), f"{target.port} is target.port too")
    for role, pool in spec.pools().items():
        if target.device == "cuda":
            store = range(STORE_BASES[role], STORE_BASES[role] + pool.replicas * STORE_PORTS)
            yield from _taken_faults(target, store, f"a port on which {role} engines start")
        if not isinstance(spec.serving, PrefillDecode):
            continue
        base = SIDE_CHANNEL_BASES[role]
        taken = range(base, base + pool.replicas * pool.devices)
        if len(taken) > SIDE_CHANNEL_BASES["decode"] - SIDE_CHANNEL_BASES["prefill"]:
            yield Fault(
                (*pool_path(role), "replicas"),
                f"found {len(taken)} devices in the pool, allowed: 2000, one side channel each",
            )
        yield from _taken_faults(target, taken, f"a side-channel port of {role}")


def _taken_faults(target: LocalTarget, taken: range, what: str) -> Iterator[Fault]:
    for field in ("port", "dashboard_port"):
        if (port := getattr(target, field)) in taken:
            text = f"{port} is {what} ({taken.start} to {taken.stop - 1})"
            yield Fault(("target", field), text)


def _stack_faults(row_id: str, device: str) -> Iterator[Fault]:
    try:
        row = find_row(row_id)
    except InputError as error:
        yield Fault(("stack",), error.message, error.fix)
        return
    if row.device != device:
        yield Fault(
            ("stack",), f'found "{row_id}", which is for {row.device}; target.device is {device}'
        )
    if row.status == "broken":
        yield Fault(("stack",), f'"{row_id}" is known to be broken: {row.evidence}')
