"""`rayspan up`"""

import contextlib
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from rayspan.adapters import processes
from rayspan.cli.output import StepPrinter, print_json
from rayspan.cli.verdict_text import report_lines
from rayspan.local import chat, down
from rayspan.local import up as local_up
from rayspan.local.run_folder import Deployment
from rayspan.spec import builtin_spec, load_spec
from rayspan.verify import quick_verify


def command(
    spec: Annotated[
        Path | None,
        typer.Argument(help="A spec; without one: SmolLM2, 1 prefill + 1 decode, on CPU."),
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return once it is up, and leave it running.")
    ] = False,
    preload: Annotated[
        bool, typer.Option(help="Fork processes from one that has imported the stack (CPU only).")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run a spec on this machine behind one OpenAI-compatible endpoint."""
    wanted, progress = load_spec(spec) if spec else builtin_spec(), StepPrinter()
    with contextlib.closing(progress), _interruptible():
        deployment = local_up.up(wanted, progress, preload)
        try:
            _greet(deployment, progress, as_json)
            if not detach:
                _hold(deployment)
        except BaseException:
            down.down()
            raise


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
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


def _greet(deployment: Deployment, progress: StepPrinter, as_json: bool) -> None:
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


def _hold(deployment: Deployment) -> None:
    print("up; Ctrl-C ends it", file=sys.stderr)
    processes.wait_for_end(deployment.root_pid)
    print("the deployment was ended", file=sys.stderr)
