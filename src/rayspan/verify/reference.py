"""A greedy continuation that shares no code with the engine: transformers, float32, one prompt at a
time. Run as a process: `python -m rayspan.verify.reference`, JSON in, JSON out.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from rayspan.adapters.json_job import print_result


def continue_greedily(model: Any, prompt: Sequence[int], new_tokens: int) -> dict[str, list[Any]]:
    """Token ids, and by how many nats each led the second likeliest."""
    import torch  # noqa: PLC0415  (heavy)

    ids, gaps = [], []
    inputs, cache = torch.tensor([prompt]), None
    with torch.inference_mode():
        for _ in range(new_tokens):
            step = model(input_ids=inputs, past_key_values=cache, use_cache=True)
            best = torch.topk(step.logits[0, -1].float(), 2)
            ids.append(int(best.indices[0]))
            gaps.append(float(best.values[0] - best.values[1]))
            inputs, cache = best.indices[:1][None], step.past_key_values
    return {"token_ids": ids, "gaps": gaps}


def main() -> None:
    import torch  # noqa: PLC0415  (heavy)
    from transformers import AutoModelForCausalLM  # noqa: PLC0415  (heavy)

    job = json.load(sys.stdin)
    model = AutoModelForCausalLM.from_pretrained(job["model"], dtype=torch.float32).eval()
    print_result([continue_greedily(model, p, job["new_tokens"]) for p in job["prompts"]])


if __name__ == "__main__":
    main()
