"""vLLM's NIXL connector, which also tells which reads failed or may have come too late.

This module and `scheduler` are the only ones that know vLLM's connector from within;
tests/integration/test_guard_contract.py says when an upgrade moves what they hold on to.
"""

import functools
import queue
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import zmq
from vllm.distributed.kv_transfer.kv_connector.v1.base import (
    KVConnectorRole,
    KVConnectorWorkerMetadata,
)
from vllm.distributed.kv_transfer.kv_connector.v1.nixl.connector import (
    NixlBaseConnector,
    NixlPullConnector,
)
from vllm.distributed.kv_transfer.kv_connector.v1.nixl.metadata import GET_META_MSG
from vllm.distributed.kv_transfer.kv_connector.v1.nixl.pull_scheduler import (
    NixlPullConnectorScheduler,
)
from vllm.distributed.kv_transfer.kv_connector.v1.nixl.pull_worker import NixlPullConnectorWorker
from vllm.distributed.kv_transfer.kv_connector.v1.nixl.utils import zmq_ctx
from vllm.logger import init_logger
from vllm.utils.network_utils import make_zmq_path

from rayspan.serving.guard.lease import ASK, HELD, Answers, LeaseBook, ended_in_time

logger = init_logger(f"vllm.{__name__}")

_ANSWER_S: Final = 5.0
_ASKERS: Final = 4


@dataclass(frozen=True)
class ReadReport(KVConnectorWorkerMetadata):  # type: ignore[misc]
    """One step of one worker: decode's requests whose read failed, prefill's whose lease ran out
    before they were read."""

    failed: frozenset[str] = frozenset()
    expired: frozenset[str] = frozenset()

    def aggregate(self, other: "ReadReport") -> "ReadReport":
        return ReadReport(self.failed | other.failed, self.expired | other.expired)


class GuardedWorker(NixlPullConnectorWorker):  # type: ignore[misc]
    """Reads and lends blocks. Failures may be reported from the threads that shake hands."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._failures: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._known_failed: set[str] = set()
        self._expired: set[str] = set()
        self._notified: set[str] = set()
        self._remotes: dict[str, Any] = {}
        self._asked: dict[str, Future[bool]] = {}
        self._askers = ThreadPoolExecutor(_ASKERS, thread_name_prefix="rayspan-lease")

    def start_load_kv(self, metadata: Any) -> None:
        for req_id, meta in metadata.reqs_to_recv.items():
            if any(meta.local_block_ids):
                self._remotes[req_id] = meta.remote
        super().start_load_kv(metadata)

    def _read_blocks_for_req(self, req_id: str, meta: Any) -> None:
        """What a foreign block list breaks is its own request."""
        try:
            super()._read_blocks_for_req(req_id, meta)
        except Exception as error:  # noqa: BLE001  (assertions and lookups of several kinds)
            logger.warning("rayspan guard: cannot read for request %s: %r", req_id, error)
            if self._recving_transfers.get(req_id):
                self._fail(req_id)  # once the reads that were posted have ended
            else:
                self._recving_transfers.pop(req_id, None)
                self._handle_failed_transfer(req_id, None)

    def _handle_failed_transfer(self, req_id: str, handle: int | None) -> None:
        self._fail(req_id)
        super()._handle_failed_transfer(req_id, handle)

    def _fail(self, req_id: str) -> None:
        self._known_failed.add(req_id)
        self._failures.put(req_id)

    def _get_new_notifs(self) -> set[str]:
        notified: set[str] = super()._get_new_notifs()
        self._notified = set(notified)
        return notified

    def get_finished(self) -> tuple[set[str], set[str]]:
        """Holds reads back, as if still under way, until it is known that they were in time."""
        sent, received = super().get_finished()
        self._expired |= sent - self._notified
        return sent, {req_id for req_id in received if self._is_settled(req_id)} | self._answered()

    def _is_settled(self, req_id: str) -> bool:
        remote = self._remotes.pop(req_id, None)
        if req_id in self._known_failed or remote is None:
            self._known_failed.discard(req_id)
            return True
        offset = self._engine_clock_offset.get(remote.engine_id)
        if ended_in_time(time.perf_counter(), remote.blocks_expiry_time, offset):
            return True
        where = (remote.host, remote.port, remote.request_id)
        self._asked[req_id] = self._askers.submit(ask_whether_held, *where)
        return False

    def _answered(self) -> set[str]:
        done = {req_id for req_id, answer in self._asked.items() if answer.done()}
        for req_id in done:
            if not self._asked.pop(req_id).result():
                logger.warning("rayspan guard: the lease of request %s may have run out", req_id)
                self._failures.put(req_id)
        return done

    def take_report(self) -> ReadReport | None:
        failed = set()
        while not self._failures.empty():
            failed.add(self._failures.get())
        expired, self._expired = self._expired, set()
        return ReadReport(frozenset(failed), frozenset(expired)) if failed or expired else None

    def shutdown(self) -> None:
        if hasattr(self, "_askers"):
            self._askers.shutdown(wait=False, cancel_futures=True)
        super().shutdown()


def ask_whether_held(host: str, port: int, request_id: str) -> bool:
    """False also when prefill does not answer."""
    try:
        with zmq_ctx(zmq.REQ, make_zmq_path("tcp", host, port)) as sock:
            sock.setsockopt(zmq.RCVTIMEO, int(_ANSWER_S * 1000))
            sock.send(msgspec.msgpack.encode((GET_META_MSG, ASK, request_id)))
            return bool(sock.recv_multipart()[0] == HELD)
    except zmq.ZMQError:
        return False


class LendingScheduler(NixlPullConnectorScheduler):  # type: ignore[misc]
    """Tells decode when a lease ends, and keeps the book that decode may ask."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.book = LeaseBook()
        # Started as a thread by the base class, with the metadata as its first argument.
        listen: Callable[..., None] = NixlPullConnectorScheduler._nixl_handshake_listener  # noqa: SLF001
        self._nixl_handshake_listener = functools.partial(_listen, self.book, listen)

    def request_finished(self, request: Any, block_ids: Any) -> tuple[bool, dict[str, Any] | None]:
        lent, params = super().request_finished(request, block_ids)
        if lent and params and params.get("do_remote_prefill"):
            self.book.lend(request.request_id)
            params["remote_blocks_expiry_time"] = self._reqs_need_send[request.request_id]
        return lent, params


def _listen(book: LeaseBook, listen: Callable[..., None], metadata: Any, *rest: Any) -> None:
    listen(Answers(metadata, book), *rest)


class NixlConnector(NixlPullConnector):  # type: ignore[misc]
    """Ray Serve LLM chooses host and port of the side channel by this name."""

    def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any) -> None:
        NixlBaseConnector.__init__(self, vllm_config, role, kv_cache_config)
        self.failed_reads: set[str] = set()
        parts = (vllm_config, self.engine_id, kv_cache_config)
        if role == KVConnectorRole.SCHEDULER:
            self.connector_scheduler = LendingScheduler(*parts)
        else:
            self.connector_worker = GuardedWorker(*parts)

    def get_block_ids_with_load_errors(self) -> set[int]:
        """None: vLLM's own handling ends the engine for models with several cache groups, and the
        scheduler beside this connector needs only the requests."""
        super().get_block_ids_with_load_errors()
        return set()

    def build_connector_worker_meta(self) -> ReadReport | None:
        worker: GuardedWorker = self.connector_worker
        return worker.take_report()

    def update_connector_output(self, connector_output: Any) -> None:
        """Called before blocks of finished requests are freed, so the book is never behind."""
        report = connector_output.kv_connector_worker_meta
        if isinstance(report, ReadReport):
            self.failed_reads |= report.failed
            self.connector_scheduler.book.expire(report.expired)
        super().update_connector_output(connector_output)
