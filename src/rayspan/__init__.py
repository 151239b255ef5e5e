"""One language model served across several machines, from one YAML, behind one endpoint."""

from importlib.metadata import version

__version__ = version("rayspan")
