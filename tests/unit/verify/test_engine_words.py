"""The logs check on logs as recorded, and on ones with a line too many or too few."""

from pathlib import Path

import pytest

from rayspan.verify.engine_log import log_sizes, read_replica_logs
from rayspan.verify.engine_words import check_logs
from rayspan.verify.roster import Member, Roster
from rayspan.verify.verdict import Check, Verdict
from tests.unit.verify.recorded import DATA, colocated_target, efa_target, split_target

ROSTER = Roster((Member("prefill", "j5svy5ej", 1, "head"), Member("decode", "tshiazeb", 2, "head")))
_SAID = "(Worker pid=11036) WARNING 12-04 03:02:58 [base_worker.py:1] "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in (DATA / "logs-engines").iterdir():
        (tmp_path / path.name).write_text(path.read_text())
    return tmp_path


def add(folder: Path, role: str, line: str) -> None:
    with (folder / f"worker-{role}.out").open("a") as log:
        log.write(f"{_SAID}{line}\n")


def check(folder: Path, roster: Roster = ROSTER, **since: dict[Path, int]) -> Check:
    logs = read_replica_logs([folder], since.get("since", {}))
    return check_logs(split_target(), roster, logs)


def test_sound_engines_pass(folder: Path) -> None:
    found = check(folder)
    assert found.verdict is Verdict.PASS
    assert len(found.evidence) == 1 + 3 + 2 * 9


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("prefill", "Backend UCX was instantiated"),
        ("decode", "Backend UCX was instantiated"),
        ("decode", "NIXL compatibility check passed"),
        ("decode", "Transfer plan:"),
    ],
)
def test_what_an_engine_did_not_say_fails(folder: Path, role: str, words: str) -> None:
    path = folder / f"worker-{role}.out"
    path.write_text("".join(x for x in path.read_text().splitlines(True) if words not in x))
    found = check(folder)
    assert found.verdict is Verdict.FAIL
    assert f"of {role} " in found.summary
    assert f'said "{words}": 0, expected 1 or more' in found.summary


@pytest.mark.parametrize("role", ["prefill", "decode"])
@pytest.mark.parametrize(
    "words",
    [
        "Amazon EFA(s) were detected, it is recommended",
        "Skipping backend registration UCX",
        "Unknown vLLM environment variable detected: VLLM_NIXL_BACKEND",
        "Turning off hybrid kv cache manager",
        "NIXL transfer failure: xfer",
        "Potentially invalid KV blocks for unrecognized request",
        "Releasing expired KV blocks for request",
        "Got invalid KVTransferParams: {}",
        "Recovered from KV load failure: 1 request(s)",
    ],
)
def test_what_no_engine_may_say_fails(folder: Path, role: str, words: str) -> None:
    add(folder, role, words)
    found = check(folder)
    assert found.verdict is Verdict.FAIL
    assert words in found.summary
    assert f"log of {role} " in found.summary


def test_what_happened_before_the_probes_is_past(folder: Path) -> None:
    add(folder, "prefill", "Releasing expired KV blocks for request")
    assert check(folder, since=log_sizes([folder])).verdict is Verdict.PASS


def test_how_an_engine_was_set_up_is_never_past(folder: Path) -> None:
    add(folder, "decode", "Unknown vLLM environment variable detected: VLLM_NIXL_BACKEND")
    assert check(folder, since=log_sizes([folder])).verdict is Verdict.FAIL


def test_another_backend_than_asked_fails(folder: Path) -> None:
    found = check_logs(efa_target(), ROSTER, read_replica_logs([folder], {}))
    assert found.verdict is Verdict.FAIL
    assert "Backend LIBFABRIC was instantiated" in found.summary


def test_an_engine_without_a_log_is_named(folder: Path) -> None:
    more = Roster((*ROSTER.members, Member("decode", "d9", 3, "worker-2")))
    found = check(folder, more)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.summary == "no engine's log of decode d9 on worker-2"


def test_nothing_to_look_at_is_inconclusive(folder: Path) -> None:
    assert check(folder, Roster(())).verdict is Verdict.INCONCLUSIVE


def test_colocated_engines_are_skipped() -> None:
    assert check_logs(colocated_target(), ROSTER, ()).verdict is Verdict.SKIP
