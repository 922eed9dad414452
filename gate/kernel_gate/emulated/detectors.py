"""What the detectors look at, and what they can miss: one row for each kind of fault that a launch here can have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Detector:
    """One kind of fault (`Fault.kind`)."""

    kind: str
    looks_at: str
    misses: str
    """What it does not see, or what it could take for a fault; "" where every executed one is found and no other."""
    ends_launch: bool = True


DETECTORS = (
    Detector(
        "out_of_bounds",
        "every access to global, shared, local, constant and parameter memory, against the allocation that its "
        "address was based on; stores to constants",
        "an index that runs more than 32 gigabytes away is reported as one of another buffer",
    ),
    Detector("misaligned", "every access, against its width", ""),
    Detector(
        "overflow",
        "sums, differences and products of 32 bits that wrap and become part of an address that is accessed",
        "sums of 64 bits; numbers that the kernel also uses as bits (masks, hashes), which wrap on purpose",
    ),
    Detector(
        "input_changed",
        "stores that change an argument of kind `input`",
        "stores of the value that stands there already, which change nothing",
    ),
    Detector(
        "uninitialised",
        "reads of shared memory, and of output and scratch buffers, that nothing has written, byte by byte; of local "
        "memory, words of which nothing is written and whose value a store, an address, a guard or a branch uses",
        "reads of shared and global memory whose value is not used are reported as well; copies within local memory "
        "and what goes through other lanes are not followed",
        ends_launch=False,
    ),
    Detector(
        "race",
        "pairs of accesses to one place, one a write of another value, that no barrier, warp barrier, mbarrier or "
        "awaited copy orders: shared memory within a block, global memory within and between blocks",
        "writes of the value that stands there; a Triton kernel's reads of global memory whose value gets nowhere "
        "(below); pairs across a barrier of a part of a block; pairs of different blocks where the later one's block "
        "has seen a flag or counter that a third block released since; shared memory of another block of the cluster; "
        "volatile accesses and atomics to shared memory, which the check runs under other orders of warps instead; "
        "warps' own pairs in kernels with mbarriers, except a read after a write",
        ends_launch=False,
    ),
    Detector(
        "barrier",
        "threads that wait for others which have gone past, and barriers that cannot open",
        "a thread that returned early counts as arrived, as the programming guide has it",
    ),
    Detector("shuffle", "shuffles, votes and matches that name lanes which are not there", ""),
    Detector(
        "invariant",
        "what a kernel's comments [assert](invariants.md) of where its data come from, in launches of a copy with tags",
        "instructions through which tags are not followed; what no case reaches is said to be undecided",
        ends_launch=False,
    ),
    Detector("trap", "`trap`, failed assertions, jumps out of a table, calls through wrong pointers", ""),
    Detector(
        "launch", "extents, threads, clusters and shared memory beyond the architecture's limits", "registers"
    ),
    Detector(
        "timeout",
        "launches beyond their budget of time and steps",
        "a slow launch is not told from one that hangs",
    ),
    Detector("unsupported", "instructions that are not known, when a thread reaches them", ""),
)
