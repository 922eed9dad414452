"""JUnit: a suite a verdict, a case a stage; what is not accepted never looks passed."""

from xml.etree import ElementTree as ET

import pytest

from gate.reporting.verdicts import ACCEPTED, ALL, REJECTED, UNBUILT, UNTIMED
from kernel_gate.reporting.junit import render
from kernel_gate.reporting.named import NamedVerdict


def suite(judged: NamedVerdict) -> ET.Element:
    element = ET.fromstring(render([judged])).find("testsuite")
    assert element is not None
    return element


def cases(judged: NamedVerdict) -> dict[str, str]:
    return {c.get("name", ""): c[0].tag if len(c) else "passed" for c in suite(judged).iter("testcase")}


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        (ACCEPTED, ["passed", "passed", "passed", "passed"]),
        (REJECTED, ["passed", "failure", "skipped", "skipped"]),
        (UNBUILT, ["failure", "skipped", "skipped", "skipped"]),
        (UNTIMED, ["passed", "passed", "passed", "skipped"]),
    ],
    ids=["accepted", "rejected", "unbuilt", "untimed"],
)
def test_each_stage_is_a_case(judged, expected):
    assert list(cases(judged)) == ["build", "check", "sanitize", "profile"]
    assert list(cases(judged).values()) == expected


def test_a_failure_says_what_and_where_and_what_to_do():
    case = next(c for c in suite(REJECTED).iter("testcase") if c.get("name") == "check")
    assert (case.get("file"), case.get("line")) == ("kernels/soft max.cu", "31")
    failure = case[0]
    assert failure.get("type") == "wrong-value"
    assert failure.get("message") == "y[0, 31] = 0, expected <0.012>\\u0000; N 1, C 32, seed 91"
    assert "its index, shape and seed repeat the failure" in (failure.text or "")


def test_the_counts_are_those_of_the_cases():
    root = ET.fromstring(render(ALL))
    for element in (root, *root):
        tags = [c[0].tag for c in element.iter("testcase") if len(c)]
        assert element.get("tests") == str(len(list(element.iter("testcase"))))
        assert [element.get(a) for a in ("failures", "errors", "skipped")] == [
            str(tags.count(tag)) for tag in ("failure", "error", "skipped")
        ]
    assert root.get("time") == "7.500"
