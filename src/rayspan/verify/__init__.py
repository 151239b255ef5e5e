"""Proof that a running deployment is what its spec asked for."""

from rayspan.verify.reader import kv_in_use
from rayspan.verify.suite import quick_verify, run_verify, verify_wire
from rayspan.verify.verdict import Check, Evidence, Report, Verdict

__all__ = [
    "Check",
    "Evidence",
    "Report",
    "Verdict",
    "kv_in_use",
    "quick_verify",
    "run_verify",
    "verify_wire",
]
