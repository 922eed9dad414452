"""Every mutation keeps the promise of its own examples: what it makes of a file, and where it finds nothing."""

from __future__ import annotations

import ast

import pytest

from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.mutants.ground import ground_of
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.registry import all_mutations, mutants_of
from kernel_texts import kernel_in_text
from mutation_examples import LEAVES, MUTATES, MutationExample, UntouchedExample

MADE = [(m, e) for m in all_mutations() for e in MUTATES[m.id]]
LEFT = [(m, e) for m in all_mutations() for e in LEAVES[m.id]]


@pytest.mark.parametrize(("mutation", "example"), MADE, ids=[f"{m.id}-{e.kernel}" for m, e in MADE])
def test_it_makes_the_mistake_that_its_example_shows(mutation: Mutation, example: MutationExample) -> None:
    mutants = mutants_of(kernel_in_text(example.before, example.kernel, example.language))
    made = {m.source.decode(): m for m in mutants}
    assert example.after in made, [m.after for m in mutants if m.kind == mutation.id]
    assert made[example.after].kind == mutation.id


@pytest.mark.parametrize(("mutation", "example"), LEFT, ids=[f"{m.id}-{e.kernel}" for m, e in LEFT])
def test_it_finds_nothing_where_there_is_nothing(mutation: Mutation, example: UntouchedExample) -> None:
    ground = ground_of(kernel_in_text(example.code, example.kernel, example.language))
    assert ground is not None
    assert list(mutation.mutate(ground)) == []


@pytest.mark.parametrize("mutation", all_mutations(), ids=lambda m: m.id)
def test_it_has_examples_of_both_kinds(mutation: Mutation) -> None:
    assert MUTATES[mutation.id]
    assert LEAVES[mutation.id]


@pytest.mark.parametrize(("mutation", "example"), MADE, ids=[f"{m.id}-{e.kernel}" for m, e in MADE])
def test_every_mutant_is_another_file_that_still_reads(mutation: Mutation, example: MutationExample) -> None:
    mutants = mutants_of(kernel_in_text(example.before, example.kernel, example.language))
    assert len({m.source for m in mutants}) == len({m.id for m in mutants}) == len(mutants)
    for mutant in mutants:
        assert mutant.source != example.before.encode()
        assert mutant.before != mutant.after
        if example.language is Language.TRITON:
            ast.parse(mutant.source)
        else:
            kernel = kernel_in_text(mutant.source, example.kernel, example.language)
            assert kernel.node is not None
            assert not kernel.node.has_error, mutant.after


def test_a_mutant_says_where_it_is_and_what_changed() -> None:
    example = MUTATES["zero_output"][0]
    mutant = next(m for m in mutants_of(kernel_in_text(example.before, "scale")) if m.kind == "zero_output")
    assert (mutant.id, mutant.line) == ("zero_output:4", 4)
    assert (mutant.before, mutant.after) == ("out[i] = factor * x[i];", "out[i] = 0.0f;")


def test_device_functions_are_mutated_with_their_kernel() -> None:
    device = "__device__ float twice(float x) { return x + x * 0.5f; }\n"
    code = device + "__global__ void k(float* y) { y[0] = twice(y[0]); }\n"
    assert {m.line for m in mutants_of(kernel_in_text(code, "k"))} == {1, 2}


def test_a_kernel_that_does_not_parse_has_no_mutants() -> None:
    assert mutants_of(kernel_in_text("__global__ void k(float* y) { y[0] = = 1; }\n", "k")) == ()
