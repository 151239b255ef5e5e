"""What a client of a whole deployment sees when a read fails, and right after."""

from pathlib import Path

import openai
import pytest

from tests.broken import as_plugin
from tests.integration.conftest import Stack
from tests.integration.test_verify import spec

QUESTION = "What is the capital of France? Answer in one short sentence, and name the country too."


def test_a_failed_read_is_an_error_and_the_next_answer_is_right(
    stack: Stack, tmp_path: Path
) -> None:
    fault = tmp_path / "fault"
    broken = as_plugin("refuse_reads", tmp_path) | {"RAYSPAN_TEST_FAULT": str(fault)}
    deployment = stack.serve(spec(), env=broken)
    client = openai.OpenAI(
        base_url=f"{deployment.api_base}/v1", api_key="none", max_retries=0, timeout=120
    )

    def ask(*, stream: bool) -> str:
        asked = {"role": "user", "content": QUESTION}
        answer = client.chat.completions.create(
            model="m",
            messages=[asked],  # type: ignore[list-item]
            temperature=0,
            max_tokens=8,
            stream=stream,
        )
        if stream:
            return "".join(chunk.choices[0].delta.content or "" for chunk in answer)  # type: ignore[union-attr]
        return str(answer.choices[0].message.content)  # type: ignore[union-attr]

    fault.touch()
    with pytest.raises(openai.InternalServerError) as refused:
        ask(stream=False)
    assert refused.value.status_code == 500
    with pytest.raises(openai.APIError):
        ask(stream=True)
    fault.unlink()
    answer = ask(stream=False)
    assert "Paris" in answer or "capital" in answer, answer
    assert ask(stream=True) == answer
    states = stack.run("status", "--json")
    assert states.stdout.count('"RUNNING"') >= 2, states.stdout
