"""A KV cache that was not read whole, or not in time, fails its request: no token leaves.

`connector` is vLLM's NIXL connector with two findings added: reads that failed, and reads that
ended after prefill may have freed the blocks. `scheduler` ends the requests of both.
docs/explanation/guard.md tells why, decision 0004 how.
"""
