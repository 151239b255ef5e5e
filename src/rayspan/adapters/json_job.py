"""The door to jobs that need a Python process of their own: JSON in, JSON out."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from rayspan.errors import WorldError

_MARK = "RESULT "


def run_json_job(
    module: str, job: Mapping[str, Any], timeout_s: float, env: Mapping[str, str] | None = None
) -> Any:
    """Runs `python -m module` with `job` on standard input; what it gave to `print_result`.

    Raises WorldError with the process's last line when it fails or takes longer than `timeout_s`.
    """
    try:
        done = subprocess.run(  # noqa: S603  (our own interpreter and modules)
            [sys.executable, "-m", module],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env={**os.environ, **(env or {})},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise WorldError(f"{module} did not finish within {timeout_s:.0f} s") from error
    results = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if done.returncode or not results:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise WorldError(f"{module} failed: {last}")
    return json.loads(results[-1].removeprefix(_MARK))


def print_result(result: Any) -> None:
    """For the job's side; the mark keeps apart what libraries print."""
    print(_MARK + json.dumps(result), flush=True)
