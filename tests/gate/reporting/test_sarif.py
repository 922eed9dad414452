"""SARIF 2.1.0: the required parts, a rule for every code that is used, a result at the user's line."""

import json
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from gate.reporting.verdicts import ACCEPTED, ALL, REJECTED, UNBUILT, UNTIMED
from kernel_gate.reporting.sarif import render


class Part(BaseModel):
    """A part of the standard: what is not in it is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)


Text = Annotated[str, Field(min_length=1)]


class Message(Part):
    text: Text
    markdown: Text | None = None


class Configuration(Part):
    level: Literal["none", "note", "warning", "error"]


class Rule(Part):
    id: Annotated[str, Field(pattern=r"^[a-z]+(-[a-z]+)*$")]
    name: Annotated[str, Field(pattern=r"^[A-Za-z]+$")]
    shortDescription: Message
    fullDescription: Message
    help: Message
    defaultConfiguration: Configuration
    properties: dict[str, list[str]]


class Driver(Part):
    name: Text
    semanticVersion: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+")] | None = None
    rules: list[Rule]


class Tool(Part):
    driver: Driver


class ArtifactLocation(Part):
    uri: Annotated[str, Field(pattern=r"^[A-Za-z0-9._~/%-]+$")]


class Region(Part):
    startLine: Annotated[int, Field(ge=1)]


class PhysicalLocation(Part):
    artifactLocation: ArtifactLocation
    region: Region


class LogicalLocation(Part):
    name: Text
    kind: Text


class Location(Part):
    physicalLocation: PhysicalLocation
    logicalLocations: list[LogicalLocation]


class Result(Part):
    kind: Literal["pass", "open", "informational", "notApplicable", "review", "fail"]
    level: Literal["none", "note", "warning", "error"]
    message: Message
    ruleId: Text
    ruleIndex: Annotated[int, Field(ge=0)]
    locations: list[Location]
    partialFingerprints: dict[str, str]
    properties: dict[str, str]


class Run(Part):
    tool: Tool
    columnKind: Literal["utf16CodeUnits", "unicodeCodePoints"]
    results: list[Result]


class Log(Part):
    schema_: Annotated[str, Field(alias="$schema", pattern=r"sarif-2\.1\.0")]
    version: Literal["2.1.0"]
    runs: Annotated[list[Run], Field(min_length=1)]


def run(judged) -> Run:
    return Log.model_validate_json(render(judged)).runs[0]


def test_the_log_is_what_the_standard_asks_for():
    log = run(ALL)
    assert len(log.results) == len(ALL)
    for result in log.results:
        assert log.tool.driver.rules[result.ruleIndex].id == result.ruleId
        assert result.level == "none" or result.kind == "fail"


def test_no_verdict_is_a_log_with_no_result():
    assert run([]).results == []
    assert json.loads(render([]))["runs"][0]["tool"]["driver"]["rules"] == []


@pytest.mark.parametrize(
    ("judged", "rule", "level", "line"),
    [
        (REJECTED, "wrong-value", "error", 31),
        (UNBUILT, "candidate-does-not-compile", "error", 7),
        (UNTIMED, "not-profiled", "note", 20),
        (ACCEPTED, "faster", "none", 20),
    ],
    ids=["rejected", "unbuilt", "untimed", "accepted"],
)
def test_a_result_stands_at_the_users_line(judged, rule, level, line):
    result = run([judged]).results[0]
    place = result.locations[0].physicalLocation
    assert (result.ruleId, result.level, place.region.startLine) == (rule, level, line)
    assert place.artifactLocation.uri == "kernels/soft%20max.cu"
