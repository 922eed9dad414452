"""`klineage schema COMMAND`: the JSON schema of what a command prints with `--json`."""

from __future__ import annotations

import importlib
import json

import click

_DOCUMENTS = {
    "applicable": ("kernel_lineage.skills.document", "ApplicableDocument"),
    "applicable --offers": ("kernel_lineage.rewrite.offers_document", "OffersDocument"),
    "apply": ("kernel_lineage.rewrite.document", "ApplyDocument"),
    "audit": ("kernel_lineage.auditing.document", "AuditDocument"),
    "check": ("kernel_lineage.learning.check_document", "FileCheckDocument"),
    "coverage": ("kernel_lineage.coverage.document", "CoverageDocument"),
    "demo": ("kernel_lineage.demo.document", "DemoDocument"),
    "doctor": ("kernel_lineage.rewrite.doctor_document", "DoctorDocument"),
    "gate": ("kernel_gate.verdict", "Verdict"),
    "gate --text": ("kernel_lineage.learning.gated_edits", "GateEditDocument"),
    "gate --since": ("kernel_lineage.learning.gate_changes", "GateChangesDocument"),
    "optimise": ("kernel_lineage.rewrite.optimise.document", "OptimiseDocument"),
    "mine": ("kernel_lineage.history.document", "MineDocument"),
    "replay": ("kernel_lineage.learning.replay.document", "ReplayDocument"),
    "prove": ("kernel_lineage.rewrite.proving.document", "ProofDocument"),
    "walk": ("kernel_lineage.learning.backward.document", "WalkDocument"),
    "workload": ("kernel_lineage.workloads.document", "WorkloadDocument"),
    "skills": ("kernel_lineage.skills.document", "SkillListDocument"),
}


@click.command()
@click.argument("of", metavar="COMMAND", type=click.Choice(sorted(_DOCUMENTS)))
def command(of: str) -> None:
    """Print the JSON schema of what COMMAND prints with --json. Its `version` changes when a field is renamed."""
    module, name = _DOCUMENTS[of]
    model = getattr(importlib.import_module(module), name)
    click.echo(json.dumps(model.model_json_schema(mode="serialization"), indent=2))
