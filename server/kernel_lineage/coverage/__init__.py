"""How much of a folder's kernels the emulated device knows: folder → files → images → decoded or not.

Invariants: nothing is run, only compiled and decoded; each file is compiled in a process of its own, with the gate's
limits on a compiler, so a file that crashes or hangs costs its own rows.
"""
