"""Draws a report as one HTML file, and a lineage as one SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernel_gate.cleaning import for_templates
from kernel_gate.files.writing import write_atomically
from kernel_lineage.report import picture as layout
from kernel_lineage.report.picture import picture
from kernel_lineage.report.view import LineageView, ReportView

if TYPE_CHECKING:
    from jinja2 import Environment

_PAGE, _DRAWING = "lineages.html.j2", "lineage.svg.j2"


def render(report: ReportView) -> str:
    """The page. Everything from the repository is escaped."""
    return _templates().get_template(_PAGE).render(report=report, picture=picture, layout=layout)


def render_svg(lineage: LineageView) -> str:
    """One lineage as an SVG by itself."""
    template = _templates().get_template(_DRAWING)
    return template.render(drawn=picture(lineage), id="lineage", standalone=True, layout=layout)


def write(report: ReportView, path: Path) -> None:
    """Write the page; an earlier file stays whole until the new one is complete."""
    write_atomically(path, render(report).encode())


def write_svg(lineage: LineageView, path: Path) -> None:
    """Write the drawing of one lineage in the same way."""
    write_atomically(path, render_svg(lineage).encode())


def _templates() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    # The style is the one of the gate's pages.
    loader = ChoiceLoader(
        [PackageLoader("kernel_lineage.report", "."), PackageLoader("kernel_gate.reporting", ".")]
    )
    return Environment(loader=loader, autoescape=True, finalize=for_templates, undefined=StrictUndefined)
