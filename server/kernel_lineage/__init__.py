"""Kernel Lineage: mines the lineages of GPU kernels, and says when each optimisation is sound."""
