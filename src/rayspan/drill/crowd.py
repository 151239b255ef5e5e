"""Clients that ask at the same time, and what each of them got."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rayspan.adapters.http import exchange
from rayspan.verify.probes import NEW_TOKENS, Probe

_OK = 200


@dataclass(frozen=True, slots=True)
class Got:
    """An answer as a client sees it. `status` 0: none came, and `text` says why."""

    probe: Probe
    new_tokens: int
    status: int
    text: str
    seconds: float

    @property
    def has_tokens(self) -> bool:
        return self.status == _OK and "token_ids" in self.text


def body_of(model: str, probe: Probe, new_tokens: int, stream: bool) -> dict[str, Any]:
    """Greedy, and as long as asked: what differs from the reference is wrong."""
    return {
        "model": model,
        "prompt": list(probe.prompt),
        "max_tokens": new_tokens,
        "temperature": 0,
        "repetition_penalty": 1.0,
        "ignore_eos": True,
        "return_token_ids": True,
        "stream": stream,
    }


class Crowd:
    """Every other client streams. Threads end with the process, so that Ctrl-C waits for nobody."""

    def __init__(self, api_base: str, model: str, patience_s: float) -> None:
        self.patience_s = patience_s
        self._url, self._model = f"{api_base}/v1/completions", model
        self._threads: list[threading.Thread] = []
        self._got: list[Got] = []

    def send(self, probes: Sequence[Probe], new_tokens: int = NEW_TOKENS) -> None:
        """One client a prompt, all at once."""
        for probe in probes:
            stream = len(self._threads) % 2 == 1
            client = threading.Thread(
                target=self._ask, args=(probe, new_tokens, stream), daemon=True
            )
            self._threads.append(client)
            client.start()

    def ask(self, probe: Probe, patience_s: float) -> Got:
        """One client more, waited for."""
        got = self._exchange(probe, NEW_TOKENS, stream=False, patience_s=patience_s)
        self.note(got)
        return got

    def note(self, got: Got) -> None:
        """What a client of another kind got."""
        self._got.append(got)

    @property
    def waiting(self) -> int:
        """Clients without an answer yet."""
        return sum(thread.is_alive() for thread in self._threads)

    def gather(self) -> tuple[Got, ...]:
        """What all clients got, once the last of them did, or lost patience."""
        for thread in self._threads:
            thread.join()
        return tuple(self._got)

    def _ask(self, probe: Probe, new_tokens: int, stream: bool) -> None:
        self._got.append(self._exchange(probe, new_tokens, stream, self.patience_s))

    def _exchange(self, probe: Probe, new_tokens: int, stream: bool, patience_s: float) -> Got:
        began = time.monotonic()
        body = body_of(self._model, probe, new_tokens, stream)
        status, text = exchange(self._url, body, patience_s)
        return Got(probe, new_tokens, status, text, time.monotonic() - began)
