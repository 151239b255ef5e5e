"""The OpenAI endpoint: Ray's ingress, with a door that refuses what would be answered wrongly.

Under prefill/decode, Ray Serve LLM 2.58 sends a request to the prefill engine cut to one token and
hands the reply's transfer parameters to the decode engine. That is sound for one prompt with one
answer. For the requests refused here it is not: a list of prompts gets the first one's KV cache
for all (HTTP 200 with another prompt's answer), `n` > 1 reads KV that its first answer releases,
prompt log probabilities kill the request on decode, `min_tokens` and a required tool call break on
the one token.
"""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import HTTPException
from pydantic import model_validator
from ray.llm._internal.serve.core.configs.openai_api_models import (
    ChatCompletionRequest,
    CompletionRequest,
)
from ray.serve.llm.ingress import OpenAiIngress
from starlette.requests import Request  # FastAPI reads the annotations
from starlette.responses import JSONResponse, Response, StreamingResponse

from rayspan.serving.refusals import Refusal, internal_field, under_prefill_decode
from rayspan.serving.streams import with_an_end

RefusalRule = Callable[[dict[str, Any]], Refusal | None]


def _must_be_object(data: Any) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"the request body must be a JSON object, not {type(data).__name__}")
    return data


class ChatBody(ChatCompletionRequest):  # type: ignore[misc]
    _object = model_validator(mode="before")(_must_be_object)


class CompletionBody(CompletionRequest):  # type: ignore[misc]
    _object = model_validator(mode="before")(_must_be_object)


class Ingress(OpenAiIngress):  # type: ignore[misc]
    """For colocated engines."""

    rules: tuple[RefusalRule, ...] = (internal_field,)

    async def chat(self, body: ChatBody, request: Request) -> Response:
        """POST /v1/chat/completions"""
        return self._refused(body) or await self._answer(super().chat(body, request))

    async def completions(self, body: CompletionBody, request: Request) -> Response:
        """POST /v1/completions"""
        return self._refused(body) or await self._answer(super().completions(body, request))

    def _refused(self, body: ChatBody | CompletionBody) -> JSONResponse | None:
        fields = body.model_dump(exclude_unset=True)
        for rule in self.rules:
            if refusal := rule(fields):
                return _openai_error(400, refusal.message, refusal.field, "unsupported_value")
        return None

    async def _answer(self, answering: Any) -> Response:
        try:
            answer: Response = await answering
        except HTTPException as error:
            missing = error.status_code == HTTPStatus.NOT_FOUND
            code = "model_not_found" if missing else "invalid_parameter"
            return _openai_error(error.status_code, str(error.detail), "model", code)
        if isinstance(answer, StreamingResponse):
            answer.body_iterator = with_an_end(answer.body_iterator)
        return answer


class PrefillDecodeIngress(Ingress):
    """For prefill and decode pools."""

    rules = (internal_field, under_prefill_decode)


def _openai_error(status: int, message: str, field: str, code: str) -> JSONResponse:
    error = {"message": message, "type": "invalid_request_error", "param": field, "code": code}
    return JSONResponse(status_code=status, content={"error": error})
