"""One engine over two Ray nodes of one GPU each, on a host with two: TP=2, then PP=2.

    python -m tests.gpu.two_nodes [--model FOLDER] [--direct]

Serves what `rayspan render` writes, with `placement: strict-spread`, and compares greedy answers
with transformers in float32. Without --direct NCCL is told that the nodes are two hosts: it may use
neither peer access nor shared memory between them.
"""

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from rayspan.render import render_serve_config
from rayspan.spec import parse_spec
from rayspan.verify.probes import Probe, make_probes
from tests.gpu.answers import (
    HEADER,
    Compared,
    Expected,
    compare,
    expect,
    summary,
    tiny_model,
    write_records,
)
from tests.gpu.installed import as_installed

SPEC = """
name: two-nodes
model: {{id: spread, source: {model}, max_model_len: 2048, dtype: bfloat16}}
serving:
  kind: colocated
  {cut}: 2
  placement: strict-spread
  block_size: 16
  kv_cache: 1GiB
  max_num_seqs: 32
  engine: {{gpu_memory_utilization: 0.5, disable_custom_all_reduce: true}}
target: {{kind: local, device: cuda}}
"""
LENGTHS = [1, 15, 16, 17, 100, 333, 600, 1500] * 4
_VOCABULARY = 512  # ids that any model here has
NEW_TOKENS = 16
CUTS = {"TP=2": "tensor_parallel", "PP=2": "pipeline_parallel"}
# Memory that GPUs of one host share is not what two hosts have.
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "VLLM_ALLREDUCE_USE_SYMM_MEM": "0",
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
}
_NCCL = re.compile(r"NCCL INFO .*?(nNodes \d+|via (?:P2P|SHM|NET)/\w+)")


def start_nodes(direct: bool) -> Any:
    """Two Ray nodes; each sees one GPU of this host."""
    import ray  # noqa: PLC0415  (heavy)
    from ray.cluster_utils import Cluster  # noqa: PLC0415  (heavy)

    cluster = Cluster()
    for gpu in ("0", "1"):
        env = {"CUDA_VISIBLE_DEVICES": gpu, "NCCL_DEBUG": "INFO"}
        if not direct:
            env["NCCL_HOSTID"] = f"host-{gpu}"
        cluster.add_node(num_cpus=4, num_gpus=1, include_dashboard=False, env_vars=env)
    ray.init(address=cluster.address, namespace="serve", log_to_driver=False)
    return cluster


def serve_cut(model: Path, cut: str) -> dict[str, Any]:
    """Serves the rendered application; where its bundles came to lie."""
    from ray import serve  # noqa: PLC0415  (heavy)
    from ray.llm._internal.common.utils.import_utils import load_class  # noqa: PLC0415  (heavy)
    from ray.util import placement_group_table  # noqa: PLC0415  (heavy)

    spec = parse_spec(SPEC.format(model=model, cut=cut), "two_nodes")
    config = yaml.safe_load(render_serve_config(spec, str(model)).to_yaml())
    (app,) = config["applications"]
    began = time.monotonic()
    serve.run(load_class(app["import_path"])(app["args"]), name=app["name"], route_prefix="/")
    groups = [g for g in placement_group_table().values() if g["state"] == "CREATED"]
    nodes = [sorted(g["bundles_to_node_id"].values()) for g in groups]
    return {"cut": cut, "start_s": round(time.monotonic() - began, 1), "nodes_of_bundles": nodes}


def nccl_said(cluster: Any) -> list[str]:
    """How many hosts NCCL saw, and by what it joined the devices."""
    logs = Path(cluster.head_node.get_logs_dir_path())
    texts = [path.read_text(errors="replace") for path in logs.glob("worker-*")]
    return sorted({said for text in texts for said in _NCCL.findall(text)})


def run(model: Path, probes: tuple[Probe, ...], expected: list[Expected], cluster: Any) -> int:
    from ray import serve  # noqa: PLC0415  (heavy)

    rows: list[Compared] = []
    facts: dict[str, Any] = {"model": str(model)}
    spread = True
    print(HEADER)
    for title, cut in CUTS.items():
        facts[title] = placed = serve_cut(model, cut)
        found = compare(title, "http://127.0.0.1:8000", "spread", probes, expected)
        print(summary(found), f"  start {placed['start_s']} s", flush=True)
        rows += found
        spread &= any(len(set(nodes)) == len(nodes) == 2 for nodes in placed["nodes_of_bundles"])
        serve.delete("default")
    print("each engine's two devices lay on two Ray nodes:", "yes" if spread else "NO")
    facts["nccl"] = nccl_said(cluster)
    print("NCCL:", ", ".join(facts["nccl"]) or "said nothing")
    print("raw records:", write_records("two_nodes", facts, rows))
    return 0 if spread and all(row.holds for row in rows) else 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, help="left out: a tiny one with random weights")
    parser.add_argument("--direct", action="store_true", help="let NCCL use NVLink and memory")
    given = parser.parse_args()
    os.environ |= ENVIRONMENT
    with tempfile.TemporaryDirectory() as folder:
        as_installed(Path(folder) / "site")
        model = given.model or tiny_model(Path(folder) / "model")
        probes = make_probes(LENGTHS, _VOCABULARY, seed=1)
        expected = expect(model, probes, NEW_TOKENS)
        cluster = start_nodes(given.direct)
        try:
            return run(model, probes, expected, cluster)
        finally:
            import ray  # noqa: PLC0415  (heavy)

            ray.shutdown()
            cluster.shutdown()


if __name__ == "__main__":
    sys.exit(main())
