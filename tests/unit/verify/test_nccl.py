"""NCCL's own words on engines over several nodes. The logs are made up after NCCL's format."""

import pytest

from rayspan.spec import PrefillDecode
from rayspan.verify.engine_log import ReplicaLog
from rayspan.verify.nccl import check_nccl
from rayspan.verify.target import Target
from rayspan.verify.verdict import Verdict
from tests.unit.verify.recorded import efa_target, split_target

COMM = "w:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 2 nNodes {} localRanks 1 localRank 0 MNNVL 0\n"
VIA = "w:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/{}\n"
LIBFABRIC, SOCKET = "Libfabric/0/GDRDMA", "Socket/0"


def wide(target: Target) -> Target:
    """Two ranks an engine."""
    serving = target.spec.serving
    assert isinstance(serving, PrefillDecode)
    pool = serving.decode.model_copy(update={"tensor_parallel": 2})
    both = serving.model_copy(update={"prefill": pool, "decode": pool})
    return Target(target.spec.model_copy(update={"serving": both}), target.shape)


def log(text: str) -> list[ReplicaLog]:
    return [ReplicaLog("decode", "d0", text, "")]


@pytest.mark.parametrize(
    ("target", "text", "verdict"),
    [
        (efa_target(), COMM.format(2) + VIA.format(LIBFABRIC), Verdict.PASS),
        (efa_target(), COMM.format(2) + VIA.format(SOCKET), Verdict.FAIL),
        (efa_target(), COMM.format(2), Verdict.FAIL),
        (split_target(), COMM.format(2) + VIA.format(SOCKET), Verdict.PASS),
        (efa_target(), COMM.format(1), Verdict.SKIP),
        (efa_target(), "", Verdict.INCONCLUSIVE),
    ],
)
def test_engines_over_nodes(target: Target, text: str, verdict: Verdict) -> None:
    assert check_nccl(wide(target), 2, log(text)).verdict is verdict


def test_the_network_is_named() -> None:
    check = check_nccl(wide(efa_target()), 2, log(COMM.format(2) + VIA.format(SOCKET)))
    assert check.summary == "NCCL networks of d0: Socket, expected no Socket"


@pytest.mark.parametrize(("target", "nodes"), [(split_target(), 2), (wide(split_target()), 1)])
def test_engines_on_one_node_are_skipped(target: Target, nodes: int) -> None:
    assert check_nccl(target, nodes, []).verdict is Verdict.SKIP
