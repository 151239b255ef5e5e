"""The negative control: a pair whose KV cache does not cross the wire, which `verify` must refuse.

A check that has never said no proves nothing. The pair runs on two hosts with addresses of their
own, but shares IPC and PID namespace and /dev/shm, so that UCX takes shared memory: tokens, bytes
and answers are all right, and nothing but the interfaces' counters can tell.
"""

import secrets
from collections.abc import Callable

from rayspan.lab.down import remove_lab
from rayspan.lab.layout import LabOptions
from rayspan.lab.up import lab_up
from rayspan.local.run_folder import run_folder
from rayspan.local.starting import Progress
from rayspan.spec import PrefillDecode, Spec
from rayspan.spec.serving import Transport
from rayspan.verify import Check, Report, Verdict, verify_wire

NAME = "control"
_OPTIONS = LabOptions(isolation="network", subnet="10.214.0.0/24", label="rayspan-nc")
_SOUND = ("split", "bytes")


def negative_control(spec: Spec, progress: Progress, warn: Callable[[str], None]) -> Report:
    """Starts the pair, checks it, removes it. Needs root.

    Passes when the wire check fails on it, and fails when that check is blind. Inconclusive where
    namespaces are refused: between plain processes there is no wire.
    """
    if not isinstance(spec.serving, PrefillDecode):
        skipped = Check(
            NAME, Verdict.SKIP, "one pool computes prompts and tokens: there is no wire"
        )
        return Report((skipped,), 0)
    folder = run_folder()
    folder = folder.with_name(f"{folder.name}-nc")
    deployed = lab_up(_pair(spec, spec.serving), _OPTIONS, progress, warn, folder)
    try:
        progress.step("checking the broken pair")
        report = verify_wire(deployed, secrets.randbits(32))
    finally:
        remove_lab(folder)
    return Report((judge_control(report),), report.seed)


def _pair(spec: Spec, serving: PrefillDecode) -> Spec:
    """One engine a pool, over whatever UCX likes best."""
    pair = serving.model_copy(
        update={
            "prefill": serving.prefill.model_copy(update={"replicas": 1}),
            "decode": serving.decode.model_copy(update={"replicas": 1}),
            "transport": Transport(kind="ucx"),
        }
    )
    return spec.model_copy(update={"serving": pair})


def judge_control(report: Report) -> Check:
    """What the checks said of the broken pair. Pure."""
    said = {check.name: check for check in report.checks}
    wire = said["wire"]
    evidence = tuple(item for check in report.checks for item in check.evidence)
    if wire.verdict is Verdict.PASS:
        summary = (
            f"the wire check is blind: nothing crossed the wire, and it passed: {wire.summary}"
        )
        return Check(NAME, Verdict.FAIL, summary, evidence)
    unsound = [name for name in _SOUND if said[name].verdict is not Verdict.PASS]
    if wire.verdict is not Verdict.FAIL or unsound:
        words = "; ".join(f"{c.name} {c.verdict.value}: {c.summary}" for c in report.checks)
        return Check(NAME, Verdict.INCONCLUSIVE, words, evidence)
    summary = f"on a pair that shares memory the wire check failed, as it must: {wire.summary}"
    return Check(NAME, Verdict.PASS, summary, evidence)
