"""A report as lines of text."""

from rayspan.verify import Report

_WIDTH = 12


def report_lines(report: Report) -> list[str]:
    """A line a check: name, verdict, what was observed."""
    return [f"{c.name:<{_WIDTH}} {c.verdict.value:<12} {c.summary}" for c in report.checks]
