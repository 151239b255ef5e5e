"""A greedy continuation by one engine that does it all, with the settings of the deployment.

Run as a process: `python -m rayspan.verify.colocated_reference`, JSON in, JSON out.
"""

import json
import sys
from typing import Any

from rayspan.adapters.json_job import print_result


def main() -> None:
    from vllm import LLM, SamplingParams  # noqa: PLC0415  (heavy)

    job = json.load(sys.stdin)
    engine = LLM(model=job["model"], **job["engine"])
    wanted = SamplingParams(
        max_tokens=job["new_tokens"], temperature=0, ignore_eos=True, logprobs=2
    )
    prompts = [{"prompt_token_ids": prompt} for prompt in job["prompts"]]
    answers = [engine.generate([prompt], wanted, use_tqdm=False)[0] for prompt in prompts]
    print_result([_continuation(answer.outputs[0]) for answer in answers])


def _continuation(output: Any) -> dict[str, list[Any]]:
    gaps = []
    for choices in output.logprobs:
        best, second = sorted((c.logprob for c in choices.values()), reverse=True)[:2]
        gaps.append(best - second)
    return {"token_ids": list(output.token_ids), "gaps": gaps}


if __name__ == "__main__":
    main()
