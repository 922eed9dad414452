"""How every other process is started: our own Python, and the tools of others.

Invariants: a process of ours imports the standard library, the packages that this process was started with and nothing
else, wherever it runs and whatever its environment says; what it answers carries a seal that only it can make; it has
a group of its own, which is ended as a whole. Nothing is looked up in the working directory or in its repository.
"""
