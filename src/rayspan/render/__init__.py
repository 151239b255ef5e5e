"""What a spec becomes: files that other programs take."""

from rayspan.render.cluster import Cluster
from rayspan.render.serve_app import ServeConfig, render_serve_config

__all__ = ["Cluster", "ServeConfig", "render_serve_config"]
