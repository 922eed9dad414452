"""Proofs about a kernel in its workload: the setting that a workload gives, and counterexamples replayed."""
