"""What commands that bring something up share: being interrupted, the greeting, staying."""

import contextlib
import shlex
import signal
import sys
from collections.abc import Iterator

import typer

from rayspan.adapters import processes
from rayspan.cli.output import StepPrinter, print_json
from rayspan.cli.verdict_text import report_lines
from rayspan.local import chat
from rayspan.local.run_folder import Deployment
from rayspan.verify import quick_verify


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal break off once; what ends then is not broken off."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupt(_number: int, _frame: object) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in signals:
        signal.signal(each, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        print("rayspan: interrupted; everything started was ended", file=sys.stderr)
        raise typer.Exit(130) from None


def greet(deployment: Deployment, progress: StepPrinter, as_json: bool) -> None:
    """Asks a question, checks the split, and prints both with a line for curl."""
    progress.step("asking the first question")
    answer = chat.probe(deployment)
    progress.step("checking")
    report = quick_verify(deployment)
    progress.close()
    if as_json:
        print_json({"endpoint": deployment.api_base, "answer": answer, "report": report})
        return
    print(f"\n> {chat.PROBE}\n{answer.text}\n")
    print("\n".join(report_lines(report)))
    print(f"\n{_curl(deployment)}\n")
    sys.stdout.flush()


def _curl(deployment: Deployment) -> str:
    body = (
        f'{{"model": "{deployment.spec.model.id}", '
        f'"messages": [{{"role": "user", "content": "{chat.PROBE}"}}], "temperature": 0}}'
    )
    url = f"{deployment.api_base}/v1/chat/completions"
    return f"curl {url} -H 'Content-Type: application/json' -d {shlex.quote(body)}"


def hold(deployment: Deployment) -> None:
    """Stays until the deployment ends; Ctrl-C breaks the wait."""
    print("up; Ctrl-C ends it", file=sys.stderr)
    processes.wait_for_end(deployment.root_pid)
    print("the deployment was ended", file=sys.stderr)
