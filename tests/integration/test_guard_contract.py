"""What the guard holds on to inside vLLM: when an upgrade moves it, this says which piece."""

import inspect
import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # vLLM's own imports warn
    from vllm.distributed.kv_transfer.kv_connector.v1.nixl import (
        base_scheduler,
        base_worker,
        pull_scheduler,
        pull_worker,
    )
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.outputs import KVConnectorOutput
    from vllm.v1.worker import kv_connector_model_runner_mixin

    from rayspan.serving.guard import connector, scheduler


def source(part: Any) -> str:
    return inspect.getsource(part)


def in_order(text: str, *pieces: str) -> bool:
    places = [text.find(piece) for piece in pieces]
    return -1 not in places and places == sorted(places)


def test_what_is_replaced_is_still_called() -> None:
    worker, reads = base_worker.NixlBaseConnectorWorker, pull_worker.NixlPullConnectorWorker
    assert "self._handle_failed_transfer(" in source(worker._pop_done_transfers)
    assert "self._handle_failed_transfer(" in source(worker._background_nixl_handshake)
    assert "self._read_blocks_for_req(" in source(reads.start_load_kv)
    assert "self._get_new_notifs()" in source(worker.get_finished)
    assert "target=self._nixl_handshake_listener" in source(
        base_scheduler.NixlBaseConnectorScheduler.set_xfer_handshake_metadata
    )
    listener = source(base_scheduler.NixlBaseConnectorScheduler._nixl_handshake_listener)
    assert "encoded_data[(target_pp_rank, target_tp_rank)]" in listener


def test_an_expired_lease_ends_in_done_sending_without_a_notification() -> None:
    text = source(base_worker.NixlBaseConnectorWorker.get_finished)
    assert in_order(text, "record_kv_expired_req", "done_sending.add(req_id)", "return")


def test_failures_reach_the_scheduler_with_the_end_of_their_read() -> None:
    text = source(kv_connector_model_runner_mixin)
    assert in_order(
        text, "kv_connector.get_finished(", "kv_connector.build_connector_worker_meta()"
    )
    assert "kv_connector_worker_meta" in KVConnectorOutput.__dataclass_fields__


def test_a_read_request_becomes_runnable_only_in_update_from_output() -> None:
    assert "finished_recving_kv_req_ids.add(" in source(Scheduler._update_from_kv_xfer_finished)
    assert "self._update_from_kv_xfer_finished(" in source(Scheduler.update_from_output)
    assert in_order(
        source(Scheduler._update_from_kv_xfer_finished),
        "self.connector.update_connector_output(",
        "self._free_blocks(",
    )
    assert "cache_blocks(" in source(Scheduler._update_waiting_for_remote_kv)


def test_the_lease_is_stamped_where_it_is_read() -> None:
    text = source(pull_scheduler.NixlPullConnectorScheduler.request_finished)
    assert "self._reqs_need_send[request.request_id]" in text
    assert "remote_blocks_expiry_time=" in text
    assert connector.NixlConnector.__mro__[1].__name__ == "NixlPullConnector"


def test_the_scheduler_is_made_as_vllm_makes_it() -> None:
    assert set(inspect.signature(Scheduler.__init__).parameters) >= {
        "vllm_config",
        "kv_cache_config",
    }
    assert issubclass(scheduler.GuardedAsyncScheduler, AsyncScheduler)
    assert not issubclass(scheduler.GuardedScheduler, AsyncScheduler)
