"""Integer terms and whether some of them imply another: what conditions of skills and proofs about kernels share."""
