"""Whether prefill still held the blocks when a read of them ended.

Prefill tells when the lease of a prompt's blocks ends at the earliest. A read that ended before
needs no more proof. One that ended later may be right, for heartbeats lengthen leases, so decode
asks: prefill answers from this book, over the socket on which vLLM's connector serves its metadata.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

ASK: Final = "rayspan-lease"
HELD: Final = b"held"
_NOT_HELD: Final = b"not held"
_REMEMBERED = 1 << 15  # requests; older ones are as good as unknown
# Of the two clocks' difference, which vLLM measures over one round trip.
CLOCK_MARGIN_S: Final = 1.0


class LeaseBook:
    """Requests whose blocks were lent, and whether their lease ran out before they were read.

    Written by the thread that frees the blocks, before it does; read by the one that answers.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[str, bool] = OrderedDict()

    def lend(self, request_id: str) -> None:
        self._held[request_id] = True
        while len(self._held) > _REMEMBERED:
            self._held.popitem(last=False)

    def expire(self, request_ids: Iterable[str]) -> None:
        for request_id in request_ids:
            self._held[request_id] = False

    def is_held(self, request_id: str) -> bool:
        """True from the lending on, also after the read; false once expired, and for others."""
        return self._held.get(request_id, False)


class Answers(dict[Any, Any]):
    """What vLLM's listener looks its answers up in, and the book for keys that begin with ASK."""

    def __init__(self, metadata: Mapping[Any, Any], book: LeaseBook) -> None:
        super().__init__(metadata)
        self._book = book

    def __missing__(self, key: Any) -> bytes:
        if isinstance(key, tuple) and key[0] == ASK:
            return HELD if self._book.is_held(key[1]) else _NOT_HELD
        raise KeyError(key)


def ended_in_time(now: float, expiry: float | None, offset: float | None) -> bool:
    """Whether a read seen to have ended at `now` ended before the lease could.

    `now` is in seconds of this process's clock, `expiry` of prefill's, and `offset` what must be
    taken from the second to get the first. False where either is unknown.
    """
    if expiry is None or offset is None:
        return False
    return now + CLOCK_MARGIN_S < expiry - offset
