"""Verdicts as JUnit XML: a test suite for each verdict, a test case for each stage."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from kernel_gate.cleaning import cleaned
from kernel_gate.reasons import Reason
from kernel_gate.reporting.named import NamedVerdict, line_of
from kernel_gate.verdict import Stage, StageStatus


def render(judged: Sequence[NamedVerdict]) -> str:
    """The document.

    A stage that failed is a failure, one that could not say is an error, one that was not reached is skipped. Times
    that were not taken for want of a GPU are skipped too: the property `standing` says `right`.
    """
    root = ET.Element("testsuites", name="klineage gate")
    for one in judged:
        root.append(_suite(one))
    _total(root, list(root))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(judged: NamedVerdict) -> ET.Element:
    suite = ET.Element("testsuite", name=_text(judged.title))
    properties = ET.SubElement(suite, "properties")
    about = {
        "outcome": judged.verdict.outcome.value,
        "standing": judged.verdict.standing.value,
        "code": judged.verdict.code or "",
        "inputs_hash": judged.verdict.inputs_hash,
        "device": str((judged.verdict.environment.get("device") or {}).get("name", "")),
    }
    for name, value in about.items():
        ET.SubElement(properties, "property", name=name, value=_text(value))
    for stage in judged.verdict.stages:
        suite.append(_case(judged, stage))
    children = [case[0].tag for case in suite.iter("testcase") if len(case)]
    suite.set("tests", str(len(judged.verdict.stages)))
    for tag, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(plural, str(children.count(tag)))
    suite.set("time", f"{judged.seconds or 0.0:.3f}")
    return suite


def _case(judged: NamedVerdict, stage: Stage) -> ET.Element:
    case = ET.Element("testcase", classname=_text(judged.title), name=stage.name)
    if judged.candidate:
        case.set("file", _text(judged.candidate))
        case.set("line", str(line_of(stage) or judged.line))
    tag = _tag(stage)
    if tag:
        element = ET.SubElement(case, tag, message=_text(stage.reason), type=stage.code or "")
        if stage.code is not None and tag != "skipped":
            element.text = f"{stage.code}: {stage.code.means}\n{stage.code.remedy}"
    return case


def _tag(stage: Stage) -> str:
    if stage.status is StageStatus.FAIL:
        return "failure"
    if stage.status is StageStatus.SKIPPED or stage.code is Reason.NOT_PROFILED:
        return "skipped"
    return "error" if stage.status is StageStatus.UNAVAILABLE else ""


def _total(root: ET.Element, suites: Sequence[ET.Element]) -> None:
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in suites):.3f}")


def _text(text: str) -> str:
    """Without the characters that XML cannot hold, and those that act on a reader; the writer escapes the rest."""
    return cleaned(text, "terminal")
