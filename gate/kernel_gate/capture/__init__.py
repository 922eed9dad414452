"""Triton through its Python wrapper: run on tensors without data in the compiler child, recorded, replayed here."""
