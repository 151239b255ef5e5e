"""Several hosts on one machine: a head and workers as namespaces joined by a bridge."""
