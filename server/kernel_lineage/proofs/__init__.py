"""Proofs about kernels from their source: in bounds, written once, aligned, without bank conflicts or overflow.

`cuda/` and `triton/` read a kernel symbolically into a `model.Model`; `obligations/` ask a solver about it. What could
not be modelled leaves unknown values behind, and what depends on one is undecided with the reason.
"""
