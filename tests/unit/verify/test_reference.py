"""The independent reference's greedy loop, on a model that counts."""

from typing import Any

import pytest


class Counting:
    """Prefers the token after the last one by 2 nats; its cache is the length seen so far."""

    def __call__(self, input_ids: Any, past_key_values: int | None, use_cache: bool) -> Any:
        import torch  # noqa: PLC0415  (heavy)

        self.past_key_values = (past_key_values or 0) + input_ids.shape[1]
        self.logits = torch.zeros(1, input_ids.shape[1], 16)
        self.logits[0, -1, int(input_ids[0, -1]) + 1] = 2.0
        assert use_cache
        return self


def test_each_token_follows_from_the_last() -> None:
    pytest.importorskip("torch", reason="the serving stack is not installed")
    from rayspan.verify.reference import continue_greedily  # noqa: PLC0415  (heavy)

    model = Counting()
    found = continue_greedily(model, [3, 4, 5], 3)
    assert found == {"token_ids": [6, 7, 8], "gaps": [2.0, 2.0, 2.0]}
    assert model.past_key_values == 5
