"""Drafts of workloads: what a kernel's file and its callers say of how the kernel is run."""
