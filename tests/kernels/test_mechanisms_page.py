"""The page of mechanisms and anchors says all that their files say."""

from kernel_lineage.kernels.anchors.registry import anchors
from kernel_lineage.kernels.mechanisms.registry import mechanisms
from mechanisms_page import render


def test_every_mechanism_has_its_section_with_its_conditions():
    page = render()
    for mechanism in mechanisms().values():
        section = page.split(f"### {mechanism.title}\n")[1].split("\n### ")[0]
        assert f"`{mechanism.id}`" in section
        assert mechanism.summary in section
        for condition in mechanism.conditions:
            assert f"| `{condition.expr}` | {condition.kind} |" in section


def test_every_anchor_has_its_section_with_its_names():
    page = render().split("## Anchors\n")[1]
    for pattern in anchors().values():
        section = page.split(f"### {pattern.title}\n")[1].split("\n### ")[0]
        assert all(f"| `{name}` |" in section for name in pattern.names)


def test_every_link_of_the_overview_leads_to_a_heading():
    page = render()
    for mechanism in mechanisms().values():
        anchor = page.split(f"[{mechanism.title}](#")[1].split(")")[0]
        assert anchor == "".join(
            c for c in mechanism.title.lower().replace(" ", "-") if c.isalnum() or c == "-"
        )


def test_the_page_is_the_same_each_time():
    assert render() == render()
