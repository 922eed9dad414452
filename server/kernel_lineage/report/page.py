"""Draws a report as one HTML file."""

from __future__ import annotations

from pathlib import Path

from kernel_lineage.report.view import ReportView

_TEMPLATE = "lineages.html.j2"


def render(report: ReportView) -> str:
    """The page. Everything from the repository is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kernel_lineage.report", "."), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template(_TEMPLATE).render(report=report)


def write(report: ReportView, path: Path) -> None:
    """Write the page; an earlier file stays whole until the new one is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(render(report), encoding="utf-8")
    unfinished.replace(path)
