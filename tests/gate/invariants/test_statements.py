"""What a comment may state, and what is said of one that cannot be read."""

import pytest

from kernel_gate.invariants.marking import marked
from kernel_gate.invariants.model import AT, LEFT, RIGHT, STORED, Amount, Coordinate, Relation
from kernel_gate.invariants.reading import read_statements
from kernel_gate.program import Program

TAGS = "// klineage: tag A[i][k]\n// klineage: tag C[row][col] as (row, tile = col // 8)\n"


def read(statement: str, head: str = TAGS):
    statements, _ = read_statements(f"{head}// klineage: {statement}\nx = 1;\n", "cuda")
    return statements


@pytest.mark.parametrize(
    ("text", "binding", "relations", "operands"),
    [
        (
            "assert same(tag(As[ty][k]).k, tag(f<int>(a, b)).k)",
            "place",
            [Relation("==", (Coordinate(0, "k"), Coordinate(1, "k")))],
            ("As[ty][k]", "f<int>(a, b)"),
        ),
        (
            "assert tag(v).row == y and tag(v).tile <= 3",
            "place",
            [
                Relation("==", (Coordinate(0, "row"), Amount(1))),
                Relation("<=", (Coordinate(0, "tile"), Amount(None, 3))),
            ],
            ("v", "y"),
        ),
        ("assert tag(p->x).i >= q->n", "place", [Relation(">=", (Coordinate(0, "i"), Amount(1)))], ("p->x", "q->n")),
        ("assert tag(v).i < (a < b)", "place", [Relation("<", (Coordinate(0, "i"), Amount(1)))], ("v", "(a < b)")),
        ("assert same(tag(v).i)", "place", [Relation("==", (Coordinate(0, "i"),))], ("v",)),
        (
            "assert stored.row == at.row && stored.tile == at.tile",
            "stores",
            [
                Relation("==", (Coordinate(STORED, "row"), Coordinate(AT, "row"))),
                Relation("==", (Coordinate(STORED, "tile"), Coordinate(AT, "tile"))),
            ],
            (),
        ),
        ("assert product(k)", "products", [Relation("==", (Coordinate(LEFT, "k"), Coordinate(RIGHT, "k")))], ()),
    ],
)  # fmt: skip
def test_an_assertion(text, binding, relations, operands):
    statements = read(text)
    assert statements.mistakes == ()
    (assertion,) = statements.assertions
    assert (assertion.binding, list(assertion.relations), assertion.operands) == (
        binding,
        relations,
        operands,
    )
    assert (assertion.line, assertion.code_lines) == (3, (4, 4))


def test_a_tag_names_coordinates_by_indices_or_by_expressions():
    first, second = read("assert product(k)").tags
    assert (first.argument, first.coordinates) == ("A", (("i", "i"), ("k", "k")))
    assert second.coordinates == (("row", "row"), ("tile", "col // 8"))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("tag A", "write `tag NAME[i][k]`"),
        ("tag B[i][i]", "names an index twice"),
        ("tag B[i] as (j)", "`j` is none of the indices i"),
        ("tag B[i] as (j = i +)", "is not an expression"),
        ("tag A[i][m]", "A is tagged otherwise in line 1"),
        ("assert a == b", "says nothing of a tag"),
        ("assert", "no comparison"),
        ("assert tag(v).i != 3", "no comparison with == < <= > or >="),
        ("assert tag(v).i + 1 == 3", "arithmetic in the tag"),
        ("assert tag().i == 3", "the tag of nothing"),
        ("assert same(tag(v).i", "brackets"),
        ("assert tag(v).z == 3", "no tag gives a coordinate `z`; they give i, k, row, tile"),
        ("assert tag(v).i == at.row", "write an assertion for each"),
        ("check that", "write `tag …` or `assert …`"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(statement, message):
    (mistake,) = read(statement).mistakes
    assert mistake.line == 3
    assert message in mistake.message


def test_only_comments_state_and_only_those_of_the_kernel_that_runs():
    source = """
    __global__ void __launch_bounds__(256) first(float *A) {
        const char *s = "// klineage: tag S[i]"; /* // klineage: tag T[i] */
        // klineage: tag A[i]
        if (A) { A[0] = 1; }  // klineage: assert stored.i == at.i
    }
    template <int N> __global__ void second(float *A) { // klineage: tag B[j]
    }
    """
    first, _ = read_statements(source, "cuda", ["first"])
    assert [t.argument for t in first.tags] == ["A"]
    assert [a.owner for a in first.assertions] == ["first"]
    second, _ = read_statements(source, "cuda", ["second"])
    assert ([t.argument for t in second.tags], second.assertions) == (["B"], ())


def test_a_block_comment_states_nothing_and_that_is_said():
    (mistake,) = read_statements("int x;\n/* klineage: tag A[i] */\n", "cuda")[0].mistakes
    assert (mistake.line, "behind `//`" in mistake.message) == (2, True)


def test_lines_are_those_of_line_directives():
    source = '#line 40 "mm.cu"\n// klineage: tag A[i]\n\n#line 70 "mm.cu"\nx = 1;  // klineage: assert same(tag(x).i)\n'
    statements, _ = read_statements(source, "cuda")
    assert (statements.tags[0].line, statements.assertions[0].line, statements.assertions[0].code_lines) == (
        40,
        70,
        (70, 70),
    )


def test_a_triton_comment_speaks_of_the_whole_statement():
    source = """
def kernel(a):
    # klineage: tag a[i]
    text = "# klineage: tag b[i]"
    tl.store(
        a,
        1,
    )  # klineage: assert stored.i == at.i
    # klineage: assert product(i)
    x = a * a
"""
    statements, _ = read_statements(source, "triton", ["kernel"])
    assert [t.argument for t in statements.tags] == ["a"]
    assert [a.code_lines for a in statements.assertions] == [(5, 8), (10, 10)]


def test_an_annotated_program_keeps_its_lines_and_its_code():
    source = f"{TAGS}v = A[0]; // klineage: assert tag(v).i == y\n"
    statements, places = read_statements(source, "cuda")
    program = marked(Program("cuda", source, "kernel", first_line=7), statements, places)
    assert program.source.splitlines()[1:] == [
        "#line 7",
        *TAGS.splitlines(),
        "v = A[0]; { klineage::operand<0, 0>((v)); klineage::number<0, 1>((long long)(y)); klineage::check<0>(); }",
    ]
    assert program.first_line == 1
