"""Converts a GGUF file to a Hugging Face folder. Run as a process: it imports torch, and may be
killed.
"""

import os
import sys
from pathlib import Path


def convert(gguf: Path, folder: Path) -> None:
    """Writes bf16 safetensors, config, tokenizer and chat template of `gguf` into `folder`."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source, name = str(gguf.parent), gguf.name
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=name, dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=name)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
