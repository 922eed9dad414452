"""How a kernel is run: programs, workloads, their drafts, and the proof that a workload sees a wrong kernel."""
