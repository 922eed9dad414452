"""An audit as one HTML page: no network, no script."""

from __future__ import annotations

from kernel_gate.cleaning import for_templates
from kernel_gate.standing import Standing
from kernel_lineage.auditing.document import AuditDocument


def render(document: AuditDocument) -> str:
    """The page. Everything that comes from a submission is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kernel_lineage.auditing", "."),
        autoescape=True,
        finalize=for_templates,
        undefined=StrictUndefined,
    )
    return environment.get_template("audit.html.j2").render(document=document, standings=list(Standing))
