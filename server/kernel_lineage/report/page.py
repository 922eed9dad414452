"""Draws a report as one HTML file."""

from __future__ import annotations

from pathlib import Path

from kernel_lineage.report.view import ReportView
from kernel_lineage.skills.writing import write_atomically

_TEMPLATE = "lineages.html.j2"


def render(report: ReportView) -> str:
    """The page. Everything from the repository is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    # The style is the one of the gate's pages.
    templates = ChoiceLoader(
        [PackageLoader("kernel_lineage.report", "."), PackageLoader("kernel_gate.reporting", ".")]
    )
    environment = Environment(loader=templates, autoescape=True, undefined=StrictUndefined)
    return environment.get_template(_TEMPLATE).render(report=report)


def write(report: ReportView, path: Path) -> None:
    """Write the page; an earlier file stays whole until the new one is complete."""
    write_atomically(path, render(report).encode())
