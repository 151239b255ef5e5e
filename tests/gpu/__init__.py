"""Runs on real GPUs, started by hand: nothing here is collected by pytest, and CI has no GPU.

Each is `PYTHONPATH=src python -m tests.gpu.NAME` in the repository's root, where the stack's
packages can be imported; rayspan need not be installed. It prints a table and writes its raw
records to the folder in $OUT, or to the current one.
"""
