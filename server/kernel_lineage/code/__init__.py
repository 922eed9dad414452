"""What a kernel does, read from its source: accesses as terms over threads, loops, barriers, exchanges."""
