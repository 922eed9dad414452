"""Drafts of CUDA C++ kernels: launches, what callers allocate, and the sizes that they come with."""
