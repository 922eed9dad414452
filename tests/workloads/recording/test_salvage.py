"""Host code of which a part does not compile: the rest is kept, at its lines."""

from __future__ import annotations

from kernel_lineage.workloads.recording.build import _errors
from kernel_lineage.workloads.recording.salvage import without_errors

TEXT = """\
#include <absent.h>
absent_handle_t shared_handle;
namespace ours {
template <class T>
int scaled(absent_type_t kind, T by) {
  return by;
}
int launched(int n) {
  int k = absent_count(n);
  return k;
}
__device__ int on_device(int n) {
  return absent(n);
}
}
int main() { return ours::launched(3); }
"""


def test_a_function_keeps_its_head_and_says_what_is_lost() -> None:
    rest = without_errors(TEXT, {9: 'identifier "absent_count" is undefined'})

    assert rest is not None
    lines = rest.splitlines()
    assert lines[7].startswith(
        'int launched(int n) { klineage_lost("`launched` does not compile here: identifier'
    )
    assert lines[8:11] == ["", "", ""]
    assert lines[11:] == TEXT.splitlines()[11:]


def test_what_has_a_wrong_head_goes_with_its_template() -> None:
    rest = without_errors(TEXT, {5: 'identifier "absent_type_t" is undefined'})

    assert rest is not None
    assert "scaled" not in rest and "template" not in rest
    assert rest.splitlines()[7] == TEXT.splitlines()[7]


def test_a_declaration_outside_of_functions_goes_alone() -> None:
    rest = without_errors(TEXT, {2: 'identifier "absent_handle_t" is undefined', 13: "no function"})

    assert rest is not None
    assert "shared_handle" not in rest
    assert "__device__ int on_device(int n) {}" in rest


def test_a_second_error_of_a_function_that_is_lost_already_takes_all_of_it() -> None:
    once = without_errors(TEXT, {9: "first"})
    assert once is not None
    twice = without_errors(once, {8: "second"})

    assert twice is not None
    assert "int launched(int n)" not in twice
    assert twice.count("\n") == TEXT.count("\n")


def test_an_error_at_no_code_is_not_mended() -> None:
    assert without_errors("\n\nint x;\n", {1: "an error"}) is None


def test_lines_count_from_a_directive_at_the_front() -> None:
    rest = without_errors(f'#include "front.h"\n#line 1\n{TEXT}', {9: "an error"})

    assert rest is not None
    assert rest.splitlines()[2:] == (without_errors(TEXT, {9: "an error"}) or "").splitlines()


def test_a_wrong_head_of_an_empty_function_takes_all_of_it() -> None:
    assert without_errors("void f(absent_t x) {}\nint y;\n", {1: "an error"}) == "\nint y;\n"


def test_what_offers_functions_loses_the_statement_alone() -> None:
    text = (
        'PYBIND11_MODULE(x, m) {\n  m.def("a", &a);\n  m.def("b", &absent);\n}\nTORCH_LIBRARY_IMPL(x, CUDA, m) {\n  '
        'm.impl("c", &absent);\n  m.impl("d", &d);\n}\n'
    )
    rest = without_errors(text, {3: "absent", 6: "absent"})

    assert rest == text.replace('m.def("b", &absent);', "").replace('m.impl("c", &absent);', "")


def test_an_error_in_a_macro_stands_where_the_macro_is_used() -> None:
    output = (
        "a.h:3:5: error: 'x' was not declared in this scope\na.h:4:2: note: in expansion of macro 'INNER'\n"
        "b.cpp:9:7: note: in expansion of macro 'OUTER'\nc.h(12): error: no such name\n"
    )

    assert _errors(output) == {
        "b.cpp": {9: "'x' was not declared in this scope"},
        "c.h": {12: "no such name"},
    }
