"""compute-sanitizer's records, read."""

import pytest

from gate.sanitizer import samples
from kernel_gate.sanitizer.records import RecordsError, read_records


@pytest.mark.parametrize(
    ("record", "kind", "line", "block", "thread", "nbytes", "address"),
    [
        (samples.OUT_OF_BOUNDS, "out_of_bounds", 3, (15, 0, 0), (39, 0, 0), 4, 0x7F5ECE802FA0),
        (samples.MISALIGNED, "misaligned", 2, (0, 0, 0), (1, 0, 0), 16, 0x7FA6C8800014),
        (samples.SHARED, "out_of_bounds", 2, (8, 0, 0), (63, 0, 0), 4, 0x500),
        (samples.TRAP, "trap", 2, (0, 0, 0), (5, 0, 0), None, None),
        (samples.RACE, "race", 3, None, None, None, None),
        (samples.UNINITIALISED, "uninitialised", 3, (13, 0, 0), (0, 0, 0), 4, 0x7F3F16800D00),
        (samples.BARRIER, "barrier", 4, (13, 0, 0), (32, 0, 0), None, None),
    ],
)
def test_a_record_of_each_tool(record, kind, line, block, thread, nbytes, address):
    (read,) = read_records(samples.document(record))
    assert (read.kind, read.file, read.line) == (kind, "program.cu", line)
    assert (read.block, read.thread, read.nbytes, read.address) == (block, thread, nbytes, address)


def test_memory_spaces_are_told_apart():
    spaces = [r.space for r in read_records(samples.document(samples.OUT_OF_BOUNDS, samples.SHARED))]
    assert spaces == ["global", "shared"]


def test_both_lines_of_a_race():
    (race,) = read_records(samples.document(samples.RACE))
    assert (race.line, race.other_line, race.text) == (3, 4, "Race condition: write and read")


def test_what_is_about_the_api_or_the_tool_is_no_finding():
    assert read_records(samples.document(samples.API, samples.OVERFLOW, samples.RACE_IN_A_WARP)) == []


def test_no_records_are_no_findings():
    assert read_records(samples.document()) == []


@pytest.mark.parametrize("text", [b"", b"<ComputeSanitizerOutput><record>", b"<Other/>"])
def test_a_file_that_was_cut_off_is_no_clean_bill(text):
    with pytest.raises(RecordsError):
        read_records(text)
