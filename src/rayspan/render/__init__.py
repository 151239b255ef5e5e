"""What a spec becomes: files that other programs take."""

from rayspan.render.serve_app import ServeConfig, render_serve_config

__all__ = ["ServeConfig", "render_serve_config"]
