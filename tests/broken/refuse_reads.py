"""NIXL refuses every read as long as the file that RAYSPAN_TEST_FAULT names exists."""

import os
from pathlib import Path
from typing import Any


class _Refusing:
    def __init__(self, wrapper: Any) -> None:
        self._wrapper = wrapper

    def make_prepped_xfer(self, *_arguments: Any, **_named: Any) -> None:
        raise RuntimeError("a fault was planted here")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapper, name)


def register() -> None:
    from vllm.distributed.kv_transfer.kv_connector.v1.nixl import pull_worker  # noqa: PLC0415  (only in engines)

    worker = pull_worker.NixlPullConnectorWorker
    read = worker._read_blocks
    if hasattr(read, "refuses"):
        return

    def refusing(self: Any, *args: Any, **kwargs: Any) -> None:
        whole = self.nixl_wrapper
        if Path(os.environ["RAYSPAN_TEST_FAULT"]).exists():
            self.nixl_wrapper = _Refusing(whole)
        try:
            read(self, *args, **kwargs)
        finally:
            self.nixl_wrapper = whole

    refusing.refuses = True  # type: ignore[attr-defined]
    worker._read_blocks = refusing
