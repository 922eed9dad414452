"""What others publish, on the gate's device: modules as benchmarks of kernels have them, and files of kernels."""
