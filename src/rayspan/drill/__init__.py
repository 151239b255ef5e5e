"""Faults against a running deployment, and a verdict on how it took each of them."""

from rayspan.drill.catalogue import DRILLS, Drill
from rayspan.drill.result import Result
from rayspan.drill.run import run_drills

__all__ = ["DRILLS", "Drill", "Result", "run_drills"]
