"""Wrong kernels made of a right one, one file a kind: what a workload must be able to see."""
