"""Fields of structures that are passed by value lie where C++ puts them."""

from __future__ import annotations

import numpy as np

from kernel_gate.devices.signature import with_structures


def _bytes(declared: list[int], *given: np.generic) -> list[bytes] | None:
    found = with_structures(declared, list(given))
    return None if found is None else [b"".join(word.tobytes() for word in words) for words in found]


def test_fields_are_aligned_and_the_end_is_padded() -> None:
    pointer, count, factor = np.uint64(0x1122334455667788), np.int32(7), np.float32(0.5)
    (packed,) = _bytes([24], count, pointer, factor) or ()
    assert packed == count.tobytes() + bytes(4) + pointer.tobytes() + factor.tobytes() + bytes(4)


def test_what_follows_a_padded_structure_is_not_taken_into_it() -> None:
    pointer, count, n = np.uint64(1), np.int32(7), np.int32(9)
    assert _bytes([16, 4], pointer, count, n) == [pointer.tobytes() + count.tobytes() + bytes(4), n.tobytes()]
    assert _bytes([16], pointer, count, n) == [pointer.tobytes() + count.tobytes() + n.tobytes()]


def test_values_that_do_not_fit_are_refused() -> None:
    pointer, count = np.uint64(1), np.int32(7)
    assert _bytes([12], pointer, count) is None
    assert _bytes([16, 4], pointer, count) is None
    assert _bytes([24, 24], pointer, count, pointer) is None


def test_fields_go_where_all_parameters_are_filled() -> None:
    small, wide = np.int32(7), np.int64(9)
    # The second small number would fit at the end of the first structure, too; the second one would lack it.
    assert _bytes([16, 16], wide, small, small, wide) == [
        wide.tobytes() + small.tobytes() + bytes(4),
        small.tobytes() + bytes(4) + wide.tobytes(),
    ]
    assert _bytes([16, 8], wide, small, np.int32(1), wide) is not None
