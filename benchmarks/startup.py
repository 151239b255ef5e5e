"""Start-up time and memory of `rayspan up --detach` against `serve run` of the same configuration.

    .venv/bin/python benchmarks/startup.py [--runs 5] [--out docs/results/startup.jsonl]

Arms, the first two in alternating order, the others once:

    rayspan       `rayspan up --detach` of the built-in spec
    plain         `serve run` of what `rayspan render` prints, Ray's own defaults
    plain-store   the same with rayspan's object-store size
    plain-sleep   the same, with NIXL's progress thread sleeping as it does under rayspan

All use the same Python environment with byte code compiled, and the model in the page cache. A run
ends at the first streamed token of the same prompt, which must begin the right answer. Memory is
the sum of the proportional set sizes of all processes that were not there before, sampled every
second and once after the first token; the largest sample counts. Raw records go to --out, a line a
run; ratios come last.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import httpx
import psutil

from rayspan.adapters import processes
from rayspan.local.builtin_model import prepare_builtin_model
from rayspan.local.engine_logs import STAGES
from rayspan.local.run_folder import run_folder

BIN = Path(sys.executable).parent
ENDPOINT = "http://127.0.0.1:8000/v1/chat/completions"
BODY = {
    "model": "smollm2-135m",
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
    "temperature": 0,
    "max_tokens": 16,
    "stream": True,
}
RIGHT_ANSWER_BEGINS = "The"
PAIR, ONCE = ("rayspan", "plain"), ("plain-store", "plain-sleep")
ARMS = (*PAIR, *ONCE)
TIMEOUT_S = 400.0
_LOG_TIME = re.compile(r"(\d\d-\d\d \d\d:\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Run:
    """One start. `stages`: seconds after the start at which the slowest engine logged it."""

    arm: str
    index: int
    seconds: float
    peak_pss_bytes: int
    processes: int
    stages: dict[str, float]
    began: str
    cpus: int


class MemorySampler(threading.Thread):
    """Samples the summed PSS of all processes that are new since it was made."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._before = set(psutil.pids())
        self._stopped = threading.Event()
        self.peak_bytes, self.processes = 0, 0

    def run(self) -> None:
        while not self._stopped.wait(1.0):
            self.sample()

    def sample(self) -> None:
        pids = [pid for pid in psutil.pids() if pid not in self._before]
        self.peak_bytes = max(self.peak_bytes, sum(map(processes.pss_bytes, pids)))
        self.processes = max(self.processes, len(pids))

    def stop(self) -> None:
        self._stopped.set()
        self.join()
        self.sample()


def first_token_s(start: float) -> float:
    """Seconds from `start` to the first streamed token; raises when it is wrong or never comes."""
    while time.monotonic() - start < TIMEOUT_S:
        try:
            with httpx.stream("POST", ENDPOINT, json=BODY, timeout=TIMEOUT_S) as answer:
                for line in answer.iter_lines() if answer.is_success else ():
                    if line.startswith("data: {"):
                        delta = json.loads(line.removeprefix("data: "))["choices"][0]["delta"]
                        if content := delta.get("content"):
                            if content.strip() != RIGHT_ANSWER_BEGINS:
                                raise SystemExit(f"wrong first token: {content!r}")
                            return time.monotonic() - start
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"no token within {TIMEOUT_S:.0f} s")


def stage_times(log_folders: list[Path], began: datetime) -> dict[str, float]:
    """By stage, when the last engine logged it (whole seconds: the logs have no more)."""
    found: dict[str, float] = {}
    for log in (log for folder in log_folders for log in folder.glob("worker-*")):
        for line in log.read_text(errors="replace").splitlines():
            for marker, stage in STAGES:
                if marker in line and (stamp := _LOG_TIME.search(line)):
                    when = datetime.strptime(f"{began.year}-{stamp[1]}", "%Y-%m-%d %H:%M:%S")
                    seconds = max(0.0, (when - began.replace(microsecond=0)).total_seconds())
                    found[stage] = max(found.get(stage, 0.0), seconds)
    return found


def run_rayspan(index: int) -> Run:
    sampler, began, start = MemorySampler(), datetime.now(), time.monotonic()
    sampler.start()
    process = subprocess.Popen([BIN / "rayspan", "up", "--detach"], stdout=subprocess.DEVNULL)
    try:
        seconds = first_token_s(start)
        sampler.stop()
        stages = stage_times(list(run_folder().glob("ray/session_2*/logs")), began)
        process.wait(timeout=120)
    finally:
        subprocess.run([BIN / "rayspan", "down"], check=True, stdout=subprocess.DEVNULL)
    return _record("rayspan", index, seconds=seconds, sampler=sampler, stages=stages, began=began)


def run_plain(arm: str, index: int, config: Path) -> Run:
    folder = Path(tempfile.mkdtemp(prefix="rb-"))
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env["RAY_TMPDIR"] = str(folder)
    if arm == "plain-store":
        env["RAY_DEFAULT_OBJECT_STORE_MAX_MEMORY_BYTES"] = str(200 << 20)
    if arm == "plain-sleep":
        env["RAYSPAN_NIXL_PROGRESS_DELAY_US"] = "1000"
    sampler, began, start = MemorySampler(), datetime.now(), time.monotonic()
    sampler.start()
    process = subprocess.Popen(
        [BIN / "serve", "run", config],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        seconds = first_token_s(start)
        sampler.stop()
        stages = stage_times(list(folder.glob("ray/session_2*/logs")), began)
    finally:
        process.send_signal(signal.SIGINT)
        time.sleep(3)
        for _attempt in range(20):
            processes.kill_all([*processes.holders_of(folder), process.pid])
            time.sleep(0.2)
        process.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)
    return _record(arm, index, seconds=seconds, sampler=sampler, stages=stages, began=began)


def _record(
    arm: str,
    index: int,
    *,
    seconds: float,
    sampler: MemorySampler,
    stages: dict[str, float],
    began: datetime,
) -> Run:
    return Run(
        arm=arm,
        index=index,
        seconds=round(seconds, 2),
        peak_pss_bytes=sampler.peak_bytes,
        processes=sampler.processes,
        stages=stages,
        began=began.isoformat(timespec="seconds"),
        cpus=os.cpu_count() or 0,
    )


def read_page_cache(folder: Path) -> None:
    """Reads the weights once, so that no run pays for the disk."""
    for path in folder.iterdir():
        path.read_bytes()


def print_table(runs: list[Run]) -> None:
    """Medians and spread a row an arm, ratios to `plain`, and where the seconds go."""
    by_arm = {arm: [run for run in runs if run.arm == arm] for arm in ARMS}
    plain_s = statistics.median(run.seconds for run in by_arm["plain"])
    plain_bytes = statistics.median(run.peak_pss_bytes for run in by_arm["plain"])
    print(
        f"{'arm':<12} {'runs':>4} {'median s':>9} {'min-max s':>14} {'ratio':>6} "
        f"{'GiB':>6} {'ratio':>6}"
    )
    for arm, mine in by_arm.items():
        if mine:
            seconds = [run.seconds for run in mine]
            median, memory = (
                statistics.median(seconds),
                statistics.median(r.peak_pss_bytes for r in mine),
            )
            spread = f"{min(seconds):.1f}-{max(seconds):.1f}"
            print(
                f"{arm:<12} {len(mine):>4} {median:>9.1f} {spread:>14} {median / plain_s:>6.2f} "
                f"{memory / 2**30:>6.2f} {memory / plain_bytes:>6.2f}"
            )
    print("\nseconds after the start at which the slower engine had logged a stage (medians)")
    for _marker, stage in STAGES:
        cells = []
        for arm, mine in by_arm.items():
            values = [run.stages[stage] for run in mine if stage in run.stages]
            cells.append(f"{arm} {statistics.median(values):.0f}" if values else f"{arm} -")
        print(f"  {stage:<22} {'   '.join(cells)}")


def order(index: int) -> tuple[str, ...]:
    """The pair in alternating order; the other two once, in the first round."""
    pair = PAIR if index % 2 == 0 else PAIR[::-1]
    return (*pair, *ONCE) if index == 0 else pair


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("docs/results/startup.jsonl"))
    arguments = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    read_page_cache(prepare_builtin_model())
    runs: list[Run] = []
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, arguments.out.open("w") as out:
        config = Path(folder) / "serve.yaml"
        rendered = subprocess.run([BIN / "rayspan", "render"], check=True, capture_output=True)
        config.write_bytes(rendered.stdout)
        for index in range(arguments.runs):
            for arm in order(index):
                run = run_rayspan(index) if arm == "rayspan" else run_plain(arm, index, config)
                runs.append(run)
                print(json.dumps(asdict(run)), file=out, flush=True)
                print(f"{arm} {index}: {run.seconds} s", file=sys.stderr)
    print_table(runs)


if __name__ == "__main__":
    main()
