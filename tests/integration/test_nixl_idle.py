"""NIXL's progress thread sleeps under rayspan, and would spin without: the seam is still there."""

import subprocess
import sys

import pytest

AGENT = """
import os, sys, time
from rayspan.serving import nixl_idle
nixl_idle.register()
from nixl._api import nixl_agent, nixl_agent_config
agent = nixl_agent("idle", nixl_agent_config(num_threads=4))
begin = time.process_time()
time.sleep(2)
print((time.process_time() - begin) / 2, flush=True)
os._exit(0)
"""


def idle_cores(delay_us: str) -> float:
    result = subprocess.run(
        [sys.executable, "-c", AGENT],
        env={nixl_delay(): delay_us, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return float(result.stdout.splitlines()[-1])


def nixl_delay() -> str:
    from rayspan.serving.nixl_idle import DELAY_US  # noqa: PLC0415  (keeps collection light)

    return DELAY_US


@pytest.mark.parametrize(("delay_us", "most", "least"), [("1000", 0.3, 0.0), ("0", 1.5, 0.4)])
def test_an_idle_agent_uses_a_core_only_without_the_delay(
    delay_us: str, most: float, least: float
) -> None:
    assert least <= idle_cores(delay_us) <= most
