"""How much of a folder's kernels the emulated device knows: folder → files → images → decoded or not.

Nothing is run, only compiled and decoded; each kernel is compiled as a program is for a verdict, by a contained child.
"""
