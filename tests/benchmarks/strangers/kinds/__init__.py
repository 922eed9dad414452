"""Pairs on kernels of kinds that the first strangers' pairs do not have, one file a family of kernels."""
