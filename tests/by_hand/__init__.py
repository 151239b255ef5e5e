"""Runs that need something no package of the stack brings, started by hand; CI does not."""
