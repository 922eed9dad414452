"""Every mechanism is seen in its own examples and not in what is easily mistaken for it."""

import pytest

from kernel_lineage.kernels import cuda, triton
from kernel_lineage.kernels.mechanisms.model import Example, Mechanism
from kernel_lineage.kernels.mechanisms.registry import mechanisms, mechanisms_of
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.skills.conditions.parse import parse as parse_condition

PARSERS = {Language.CUDA: cuda.parse, Language.TRITON: triton.parse}

PRESENT = [(m, e) for m in mechanisms().values() for e in m.present]
ABSENT = [(m, e) for m in mechanisms().values() for e in m.absent]


def kernels_in(example: Example) -> tuple[Kernel, ...]:
    parsed = PARSERS[example.language](example.code.encode())
    assert parsed.problems == (), parsed.problems
    assert parsed.kernels
    return parsed.kernels


def ids_in(example: Example) -> set[str]:
    return {site.mechanism for kernel in kernels_in(example) for site in mechanisms_of(kernel)}


def numbered(cases: list[tuple[Mechanism, Example]]) -> list[str]:
    return [f"{mechanism.id}-{n}" for n, (mechanism, _) in enumerate(cases)]


@pytest.mark.parametrize(("mechanism", "example"), PRESENT, ids=numbered(PRESENT))
def test_it_is_seen_where_it_is(mechanism, example):
    assert mechanism.id in ids_in(example)


@pytest.mark.parametrize(("mechanism", "example"), ABSENT, ids=numbered(ABSENT))
def test_a_look_alike_is_not_mistaken_for_it(mechanism, example):
    assert mechanism.id not in ids_in(example)


@pytest.mark.parametrize(("mechanism", "example"), PRESENT, ids=numbered(PRESENT))
def test_a_site_lies_in_the_file_and_says_what_was_seen(mechanism, example):
    data = example.code.encode()
    for kernel in kernels_in(example):
        for site in mechanisms_of(kernel):
            assert 0 <= site.span.start < site.span.end <= len(data)
            assert data[: site.span.start].count(b"\n") + 1 == site.span.first_line
            assert site.detail


@pytest.mark.parametrize("mechanism", mechanisms().values(), ids=lambda m: m.id)
def test_a_mechanism_is_whole(mechanism):
    """Named as its file, with examples in every language it claims, and conditions of known kinds."""
    assert len(mechanism.present) >= 2
    assert len(mechanism.absent) >= 2
    assert {e.language for e in mechanism.present} == mechanism.languages
    assert mechanism.conditions
    for condition in mechanism.conditions:
        assert condition.kind in ("validity", "profit")
        assert condition.category in ("data types", "layout", "storage", "pipeline", "hardware", "shape")
        parse_condition(condition.expr)


def test_an_id_is_the_name_of_its_file():
    import importlib

    for name in mechanisms():
        module = importlib.import_module(f"kernel_lineage.kernels.mechanisms.{name}")
        assert module.MECHANISM.id == name
