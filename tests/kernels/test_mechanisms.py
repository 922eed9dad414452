"""Every mechanism is seen in its own examples and not in what is easily mistaken for it."""

from pathlib import Path

import pytest

from example_files import Part, parts_in
from kernel_lineage.kernels.mechanisms.registry import mechanisms, mechanisms_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.skills.conditions.parse import parse as parse_condition

FOLDER = Path(__file__).parent
SPELLINGS = parts_in(FOLDER / "spellings")
LOOK_ALIKES = parts_in(FOLDER / "look_alikes")


def kernels_in(example: Part) -> tuple[Kernel, ...]:
    parsed = read(example.code.encode(), example.language)
    assert parsed.problems == (), parsed.problems
    assert parsed.kernels
    return parsed.kernels


def named(part: Part) -> str:
    return f"{part.owner}-{part.language}-{part.number}"


@pytest.mark.parametrize("example", SPELLINGS, ids=named)
def test_it_is_seen_however_it_is_written(example):
    sites = [site for kernel in kernels_in(example) for site in mechanisms_of(kernel)]
    assert example.owner in {site.mechanism for site in sites if site.certain}


@pytest.mark.parametrize("example", LOOK_ALIKES, ids=named)
def test_a_look_alike_is_not_mistaken_for_it(example):
    assert example.owner not in {
        site.mechanism for kernel in kernels_in(example) for site in mechanisms_of(kernel)
    }


@pytest.mark.parametrize("example", SPELLINGS, ids=named)
def test_a_site_lies_in_the_file_and_says_what_was_seen(example):
    data = example.code.encode()
    for kernel in kernels_in(example):
        for site in mechanisms_of(kernel):
            assert 0 <= site.span.start < site.span.end <= len(data)
            assert data[: site.span.start].count(b"\n") + 1 == site.span.first_line
            assert site.detail


@pytest.mark.parametrize("mechanism", mechanisms().values(), ids=lambda m: m.id)
def test_a_mechanism_is_whole(mechanism):
    """Ten spellings, some in every language it claims, two look-alikes, and conditions of known kinds."""
    spellings = [part for part in SPELLINGS if part.owner == mechanism.id]
    assert len(spellings) >= 10
    assert len([part for part in LOOK_ALIKES if part.owner == mechanism.id]) >= 2
    assert {part.language for part in spellings} == mechanism.languages
    assert mechanism.conditions
    for condition in mechanism.conditions:
        assert condition.kind in ("validity", "profit")
        assert condition.category in ("data types", "layout", "storage", "pipeline", "hardware", "shape")
        parse_condition(condition.expr)


def test_an_id_is_the_name_of_its_file():
    import importlib

    for name, mechanism in mechanisms().items():
        module = importlib.import_module(f"kernel_lineage.kernels.mechanisms.{name}")
        assert module.MECHANISM.detect is mechanism.detect and mechanism.id == name
