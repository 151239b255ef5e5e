"""vLLM's scheduler, which ends requests whose KV cache did not arrive before they are let run."""

from collections.abc import Iterable
from typing import Any

from vllm.logger import init_logger
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs
from vllm.v1.request import RequestStatus

from rayspan.serving.guard.transfer_params import find_problem

logger = init_logger(f"vllm.{__name__}")


class _Guard(Scheduler):  # type: ignore[misc]
    """A request that waits for its KV cache becomes runnable in `update_from_output`, when the
    workers say that the read ended; the same call ends it here if they say that it failed. So no
    step ever runs on such blocks, and none of them enters the prefix cache."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._refused: set[str] = set()

    def add_request(self, request: Any) -> None:
        if problem := find_problem(request.kv_transfer_params):
            logger.warning("rayspan guard: request %s: %s", request.request_id, problem)
            request.kv_transfer_params = None
            self._refused.add(request.request_id)
        super().add_request(request)

    def update_from_output(self, scheduler_output: Any, model_runner_output: Any) -> Any:
        refused = self._end(self._refused)
        self._refused.clear()
        outputs = super().update_from_output(scheduler_output, model_runner_output)
        for client, output in (*refused, *self._end(self._take_failed())):
            outputs.setdefault(client, EngineCoreOutputs(outputs=[])).outputs.append(output)
        return outputs

    def _take_failed(self) -> set[str]:
        """Failed reads that have ended on every worker; blocks still being written are kept."""
        reads: set[str] = getattr(self.connector, "failed_reads", set())
        over = {r for r in reads if r in self.finished_recving_kv_req_ids or r not in self.requests}
        reads -= over
        return over

    def _end(self, request_ids: Iterable[str]) -> list[tuple[int, Any]]:
        """With the client that each ended request belongs to."""
        if not request_ids:
            return []
        ended = self.finish_requests(request_ids, RequestStatus.FINISHED_ERROR)
        return [
            (
                request.client_index,
                EngineCoreOutput(
                    request_id=request.request_id,
                    new_token_ids=[],
                    finish_reason=request.get_finished_reason(),
                    events=request.take_events(),
                    trace_headers=request.trace_headers,
                ),
            )
            for request in ended
        ]


class GuardedScheduler(_Guard):
    """For engines that wait for each step."""


class GuardedAsyncScheduler(_Guard, AsyncScheduler):  # type: ignore[misc]
    """For engines that schedule a step while the one before runs."""


def guarded_scheduler(*, vllm_config: Any, **parts: Any) -> _Guard:
    """What `scheduler_cls` names: vLLM decides late which of the two it needs."""
    asynchronous = vllm_config.scheduler_config.async_scheduling
    kind = GuardedAsyncScheduler if asynchronous else GuardedScheduler
    return kind(vllm_config=vllm_config, **parts)
