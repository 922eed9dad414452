"""Verdicts as SARIF 2.1.0, for code scanning: a rule for each reason code, a result at the user's line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from kernel_gate.cleaning import without_links
from kernel_gate.reasons import Reason
from kernel_gate.reporting.named import NamedVerdict
from kernel_gate.standing import Standing
from kernel_gate.verdict import Outcome

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {Standing.ACCEPTED: "none", Standing.REJECTED: "error", Standing.RIGHT: "note"}
"""The level of what is neither right nor wrong: a warning."""


def render(judged: Sequence[NamedVerdict]) -> str:
    """The log as JSON. Its rules are the codes of these verdicts, in the order of the table."""
    codes = {one.verdict.code for one in judged}
    rules = [reason for reason in Reason if reason in codes]
    versions = {str(one.verdict.environment["gate"]) for one in judged if one.verdict.environment.get("gate")}
    driver: dict[str, Any] = {"name": "klineage gate", "rules": [_rule(reason) for reason in rules]}
    if len(versions) == 1:
        driver["semanticVersion"] = versions.pop()
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, rules) for one in judged],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(reason: Reason) -> dict[str, Any]:
    level = _LEVEL.get(reason.leads_to[0], "warning")
    return {
        "id": reason.value,
        "name": "".join(word.capitalize() for word in reason.value.split("-")),
        "shortDescription": {"text": reason.means},
        "fullDescription": {"text": reason.means},
        "help": {"text": reason.remedy, "markdown": f"{reason.means}\n\n**What to do:** {reason.remedy}"},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["gpu", reason.stage]},
    }


def _result(judged: NamedVerdict, rules: Sequence[Reason]) -> dict[str, Any]:
    verdict = judged.verdict
    result: dict[str, Any] = {
        # A change that is not shown to be right is a finding; SARIF gives a level only to the kind "fail".
        "kind": "pass" if verdict.outcome is Outcome.ACCEPTED else "fail",
        "level": _LEVEL.get(verdict.standing, "warning"),
        "message": {"text": without_links(f"{judged.kernel}: {verdict.reason}")},
        "partialFingerprints": {"inputsHash/v1": verdict.inputs_hash},
        "properties": {"outcome": verdict.outcome.value, "standing": verdict.standing.value},
    }
    if verdict.code is not None:
        result |= {"ruleId": verdict.code.value, "ruleIndex": rules.index(verdict.code)}
    if judged.candidate:
        uri = quote(PurePosixPath(judged.candidate.replace("\\", "/")).as_posix())
        place = {"artifactLocation": {"uri": uri}, "region": {"startLine": judged.place}}
        logical = [{"name": without_links(judged.kernel), "kind": "function"}]
        result["locations"] = [{"physicalLocation": place, "logicalLocations": logical}]
    return result
