"""One engine with the settings of the deployment, behind vLLM's own OpenAI server.

Run as a process: `python -m rayspan.verify.colocated_reference`, JSON in, JSON out. It continues
`prompts` greedily, and answers `requests` as that server would, within the process.
"""

import asyncio
import json
import sys
from typing import Any

from rayspan.adapters.http import exchange_within
from rayspan.adapters.json_job import print_result


def main() -> None:
    print_result(asyncio.run(_answer(json.load(sys.stdin))))


async def _answer(job: dict[str, Any]) -> dict[str, Any]:
    from vllm.engine.arg_utils import AsyncEngineArgs  # noqa: PLC0415  (heavy)
    from vllm.entrypoints.openai import api_server, cli_args  # noqa: PLC0415  (heavy)
    from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: PLC0415  (heavy)

    args = cli_args.make_arg_parser(FlexibleArgumentParser()).parse_args([])
    named = {"model": job["model"], "served_model_name": [job["name"]]}
    for name, value in (job["engine"] | named).items():
        setattr(args, name, value)
    settings = AsyncEngineArgs.from_cli_args(args)
    async with api_server.build_async_engine_client_from_engine_args(settings) as engine:
        tasks = await engine.get_supported_tasks()
        app = api_server.build_app(args, tasks, engine.model_config)
        await api_server.init_app_state(engine, app.state, args, tasks)
        return {
            "continuations": [await _continue(app, job, prompt) for prompt in job["prompts"]],
            "replies": [await exchange_within(app, *request) for request in job["requests"]],
        }


async def _continue(app: Any, job: dict[str, Any], prompt: list[int]) -> dict[str, list[Any]]:
    body = {
        "model": job["name"],
        "prompt": prompt,
        "max_tokens": job["new_tokens"],
        "temperature": 0,
        "repetition_penalty": 1.0,
        "ignore_eos": True,
        "logprobs": 2,
        "return_token_ids": True,
        "return_tokens_as_token_ids": True,
    }
    status, text = await exchange_within(app, "/v1/completions", body)
    if status != 200:  # noqa: PLR2004
        raise RuntimeError(f"the reference answered {status}: {text[:300]}")
    choice = json.loads(text)["choices"][0]
    gaps = []
    for choices in choice["logprobs"]["top_logprobs"]:
        best, second = sorted(choices.values(), reverse=True)[:2]
        gaps.append(best - second)
    return {"token_ids": choice["token_ids"], "gaps": gaps}


if __name__ == "__main__":
    main()
