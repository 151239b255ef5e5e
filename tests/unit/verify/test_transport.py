"""The transport check on engine logs as recorded."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rayspan.verify.engine_log import (
    EngineTransport,
    parse_engine_log,
    read_engine_transports,
    read_replica_logs,
)
from rayspan.verify.transport import check_transport
from rayspan.verify.verdict import Verdict
from tests.unit.verify.recorded import DATA, colocated_target, split_target

TCP = [
    EngineTransport("decode", "d0", 12, ("UCX",), ("tcp",)),
    EngineTransport("prefill", "p0", 11, ("UCX",), ("tcp",)),
]
ANY = [replace(engine, lanes=("cma", "tcp")) for engine in TCP]
CUDA = [replace(engine, lanes=("cuda_copy", "tcp")) for engine in TCP]
SILENT = [replace(engine, lanes=()) for engine in TCP]
OTHER = [TCP[0], replace(TCP[1], backends=("POSIX",))]
BOTH = [TCP[0], replace(TCP[1], backends=("UCX", "LIBFABRIC"))]


@pytest.mark.parametrize(
    ("transport", "engines", "verdict"),
    [
        ("ucx", ANY, Verdict.PASS),
        ("ucx", SILENT, Verdict.PASS),
        ("ucx", OTHER, Verdict.FAIL),
        ("ucx", BOTH, Verdict.FAIL),
        ("tcp", TCP, Verdict.PASS),
        ("tcp", CUDA, Verdict.PASS),
        ("tcp", ANY, Verdict.FAIL),
        ("tcp", SILENT, Verdict.INCONCLUSIVE),
        ("ucx", ANY[:1], Verdict.INCONCLUSIVE),
        ("ucx", ANY[1:], Verdict.INCONCLUSIVE),
        ("tcp", [], Verdict.INCONCLUSIVE),
        ("ucx", OTHER[1:], Verdict.FAIL),
    ],
)
def test_every_engine_of_both_pools(
    transport: str, engines: Sequence[EngineTransport], verdict: Verdict
) -> None:
    assert check_transport(split_target(transport), engines).verdict is verdict


def test_the_wrong_one_is_named() -> None:
    check = check_transport(split_target("tcp"), [TCP[0], ANY[1]])
    assert check.summary == ("UCX transports of prefill p0 (process 11): cma + tcp, expected tcp")


def test_colocated_engines_are_skipped() -> None:
    assert check_transport(colocated_target(), []).verdict is Verdict.SKIP


@pytest.mark.parametrize(("name", "lanes"), [("tcp", ("tcp",)), ("ucx", ("cma", "tcp"))])
def test_a_recorded_log_is_read(name: str, lanes: tuple[str, ...]) -> None:
    engines = read_engine_transports([DATA / f"logs-{name}"])
    assert [(engine.role, engine.backends, engine.lanes) for engine in engines] == [
        ("decode", ("UCX",), lanes),
        ("prefill", ("UCX",), lanes),
    ]


def test_workers_with_logs_of_their_own_are_joined_to_their_replicas(tmp_path: Path) -> None:
    """As on GPUs, where workers are actors of Ray: the recorded logs, cut in two."""
    head, other = tmp_path / "head", tmp_path / "other"
    for folder in (head, other):
        folder.mkdir()
    for out in DATA.glob("logs-tcp/worker-*.out"):
        lines = out.read_text().splitlines(keepends=True)
        core = [line for line in lines if line.startswith("(EngineCore")]
        (head / f"{out.stem}.out").write_text("".join(core))
        (head / f"{out.stem}.err").write_text(out.with_suffix(".err").read_text())
        work = "".join(line for line in lines if line not in core)
        (other / f"worker-of-{out.stem}.out").write_text(work)
    both = read_engine_transports([head, other])
    assert both == read_engine_transports([DATA / "logs-tcp"])
    assert [log.has_workers for log in read_replica_logs([head, other], {})] == [True, True]
    assert {engine.role for engine in read_engine_transports([other])} == {"unknown"}


def test_a_log_without_nixl_says_nothing() -> None:
    assert list(parse_engine_log("(Worker pid=7) INFO loading\n")) == []


def test_a_folder_without_logs_says_nothing(tmp_path: Path) -> None:
    assert read_engine_transports([tmp_path]) == ()
