"""Drafts of Triton kernels: the host code is read with sizes as symbols, from a test that calls it to the launch."""
