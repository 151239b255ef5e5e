"""The proxy answers from the decode engine alone: every pod is ready, and nothing is split."""

from collections.abc import AsyncIterator
from typing import Any


def register() -> None:
    from ray.llm._internal.serve.core.configs.openai_api_models import ChatCompletionRequest  # noqa: PLC0415  (only in engines)
    from ray.llm._internal.serve.core.server.llm_server import LLMServer  # noqa: PLC0415  (only in engines)
    from ray.llm._internal.serve.serving_patterns.prefill_decode import pd_server  # noqa: PLC0415  (only in engines)

    async def decode_alone(
        self: Any, request: Any, raw_request_info: Any = None
    ) -> AsyncIterator[Any]:
        method = "chat" if isinstance(request, ChatCompletionRequest) else "completions"
        async for chunk in await getattr(LLMServer, method)(self, request, raw_request_info):
            yield chunk

    pd_server.PDOrchestratorMixin._pd_handle_request = decode_alone
