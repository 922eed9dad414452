"""Simplifications: one optimisation taken back or weakened, the kernel's result the same. The inverse of assists."""
