"""What users' programs see: the official client against the endpoint of a prefill/decode
deployment.
"""

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from rayspan.local.run_folder import Deployment

QUESTION: Any = [{"role": "user", "content": "What is the capital of France?"}]
ANSWER = "The capital of France is Paris."


@pytest.fixture
def client(deployment: Deployment) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=f"{deployment.api_base}/v1", api_key="unused", timeout=60, max_retries=0
    ) as client:
        yield client


def chat(client: openai.OpenAI, **options: Any) -> Any:
    arguments = {"messages": QUESTION, "temperature": 0, "max_tokens": 16, **options}
    return client.chat.completions.create(model="smollm2-135m", **arguments)


def complete(client: openai.OpenAI, **options: Any) -> Any:
    arguments = {"prompt": "The capital of France is", "temperature": 0, "max_tokens": 4, **options}
    return client.completions.create(model="smollm2-135m", **arguments)


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["smollm2-135m"]
    assert client.models.retrieve("smollm2-135m").id == "smollm2-135m"


def test_chat_answers_with_usage(client: openai.OpenAI) -> None:
    answer = chat(client)
    assert answer.choices[0].message.content == ANSWER
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (37, 8)


def test_chat_streams_the_same(client: openai.OpenAI) -> None:
    chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces) == ANSWER
    assert len([piece for piece in pieces if piece]) > 4
    assert chunks[-1].usage.completion_tokens == 8


def test_completions(client: openai.OpenAI) -> None:
    answer = complete(client)
    assert answer.choices[0].text.startswith(" Paris")
    assert answer.usage.completion_tokens == 4
    assert (
        complete(client, prompt=["The capital of France is"]).choices[0].text.startswith(" Paris")
    )


def test_stop_ends_the_answer_before_it(client: openai.OpenAI) -> None:
    choice = chat(client, stop=["France"]).choices[0]
    assert choice.message.content == "The capital of "
    assert choice.finish_reason == "stop"


def test_logprobs(client: openai.OpenAI) -> None:
    content = chat(client, logprobs=True, top_logprobs=2).choices[0].logprobs.content
    assert [entry.token for entry in content[:2]] == ["The", " capital"]
    assert all(entry.logprob <= 0 and len(entry.top_logprobs) == 2 for entry in content)
    assert complete(client, logprobs=1).choices[0].logprobs.tokens[0] == " Paris"


def test_max_tokens_one(client: openai.OpenAI) -> None:
    choice = chat(client, max_tokens=1).choices[0]
    assert (choice.message.content, choice.finish_reason) == ("The", "length")


def test_structured_output(client: openai.OpenAI) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    assert '"n"' in chat(client, response_format=form, max_tokens=32).choices[0].message.content


def test_cancelling_a_stream_leaves_the_deployment_well(client: openai.OpenAI) -> None:
    stream = chat(client, stream=True, max_tokens=1500, extra_body={"ignore_eos": True})
    for _count, _chunk in zip(range(5), stream, strict=False):
        pass
    stream.close()
    assert chat(client).choices[0].message.content == ANSWER


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"n": 2}, "n"),
        ({"extra_body": {"min_tokens": 8}}, "min_tokens"),
        ({"extra_body": {"prompt_logprobs": 1}}, "prompt_logprobs"),
        ({"extra_body": {"kv_transfer_params": {"remote_host": "::1"}}}, "kv_transfer_params"),
    ],
)
def test_what_cannot_be_right_is_refused(client: openai.OpenAI, options: Any, field: str) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        chat(client, **options)
    assert refused.value.param == field


@pytest.mark.parametrize(
    ("options", "field"),
    [({"prompt": ["a", "b"]}, "prompt"), ({"echo": True, "logprobs": 1}, "echo")],
)
def test_completions_that_cannot_be_right_are_refused(
    client: openai.OpenAI, options: Any, field: str
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        complete(client, **options)
    assert refused.value.param == field


def test_an_unknown_model_is_not_found(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="gpt-9", messages=QUESTION)
    assert missing.value.code == "model_not_found"
    assert "gpt-9" in str(missing.value)


def test_a_prompt_beyond_the_model_is_refused(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="maximum context length is 2048"):
        complete(client, prompt=[5] * 3000)


@pytest.mark.parametrize("body", ["", "{", "[]", '"x"', "{}", '{"model": "smollm2-135m"}'])
@pytest.mark.parametrize("path", ["chat/completions", "completions"])
def test_a_broken_body_is_refused(deployment: Deployment, path: str, body: str) -> None:
    url = f"{deployment.api_base}/v1/{path}"
    answer = httpx.post(url, content=body, headers={"content-type": "application/json"}, timeout=30)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
