"""Why a stage ended as it did: one table of stable codes, each with its meaning and its remedy.

A code is never renamed or given another meaning; other programs branch on it. A member is its own name in kebab case.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from kernel_gate.standing import Standing

Where = Literal["run", "build", "check", "sanitize", "profile", "watch"]
"""The stage that a code is given by; `run` is any of them."""
LeadsTo = tuple[Standing, ...]

_ACCEPTS: LeadsTo = (Standing.ACCEPTED,)
_REJECTS: LeadsTo = (Standing.REJECTED,)
_RIGHT: LeadsTo = (Standing.RIGHT,)
_LACKS: LeadsTo = (Standing.LACKING,)
_UNJUDGED: LeadsTo = (Standing.NOT_JUDGED,)
_UNCLEAR: LeadsTo = (Standing.UNDECIDED,)
_WHOSE: LeadsTo = (Standing.REJECTED, Standing.UNDECIDED)
"""Rejected when the candidate is at fault, undecided when the baseline, which ran, is."""
_WHOSE_SETUP: LeadsTo = (Standing.REJECTED, Standing.NOT_JUDGED)
"""Rejected when the candidate is at fault, not judged when the baseline could not even run."""


class Reason(StrEnum):
    """A reason code: its stage, the standings that it can lead to, what it means, and what to do about it."""

    stage: Where
    leads_to: LeadsTo
    means: str
    remedy: str

    def __new__(cls, code: str, stage: Where, leads_to: LeadsTo, means: str, remedy: str) -> Reason:
        """A member from its row."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.stage, member.leads_to, member.means, member.remedy = stage, leads_to, means, remedy
        return member

    @property
    def unjudged(self) -> Standing:
        """What stands when this code ended a run that neither accepts nor rejects."""
        return next((s for s in self.leads_to if not s.is_conclusive), Standing.UNDECIDED)

    # fmt: off
    # The whole run.
    CANCELLED = ("cancelled", "run", _UNCLEAR,
        "The caller ended the run.",
        "Run it again.",
    )
    HANG = ("hang", "run", _WHOSE,
        "A launch, or the whole run, did not end within its time.",
        "Look for a loop that does not end, or a barrier that not all reach; else use smaller dims or more time.",
    )
    WORKER_DIED = ("worker-died", "run", _UNCLEAR,
        "The gate's own process ended without a verdict; the caller and the next run are unharmed.",
        "Run it again; if it dies again, its last line, in the reason, says whether memory ran out; else report it.",
    )
    DEVICE_MISSING = ("device-missing", "run", _LACKS,
        "The device that was asked for is not there or cannot be used.",
        "See what `klineage doctor` and nvidia-smi say; --device emulated checks without a GPU, but times nothing.",
    )
    NO_WORKLOAD = ("no-workload", "run", _UNJUDGED,
        "No workload says how to run the kernel, so nothing was judged.",
        "Draft one with `klineage workload init FILE:KERNEL`, fill in what it did not find, and commit it.",
    )
    SOURCE_UNREAD = ("source-unread", "run", _UNJUDGED,
        "A file that changed cannot be read, so that nothing tells which kernels of it changed.",
        "Take out what the reason names, or move it into a file of its own.",
    )
    DEVICE_LOST = ("device-lost", "run", _WHOSE,
        "A launch made the GPU's context unusable, and nothing says which rule it broke.",
        "Run with --device emulated, which names the access at fault.",
    )
    OUT_OF_MEMORY = ("out-of-memory", "run", _LACKS,
        "The device or the host has too little memory for the buffers of a shape.",
        "Use smaller dims or profile_dims, or free the memory that other processes hold.",
    )
    DISK_FULL = ("disk-full", "run", _LACKS,
        "A file of the run could not be written, because there is no space left.",
        "Free space in the temporary folder, or set TMPDIR to a folder on another disk.",
    )
    COMPANION_CHANGED = ("companion-changed", "run", _UNCLEAR,
        "The oracle or a data file was not the same at the end of the run as at its beginning.",
        "Leave these files alone while the gate runs, and run it again.",
    )
    RUN_ENDED = ("run-ended", "run", _WHOSE,
        "The stage was not reached, because an earlier one ended the run.",
        "See the earlier stage.",
    )
    RESULT_LOST = ("result-lost", "run", _UNCLEAR,
        "The stage may have ended, but its result was lost with the gate's process.",
        "See the stage that the process was at.",
    )
    # Build.
    CANDIDATE_DOES_NOT_COMPILE = ("candidate-does-not-compile", "build", _REJECTS,
        "The compiler refuses the candidate.",
        "Mend the line that the reason names; the compiler's messages are in the stage's details.",
    )
    BASELINE_DOES_NOT_COMPILE = ("baseline-does-not-compile", "build", _UNJUDGED,
        "The compiler refuses the code that the candidate would replace, so that there is nothing to compare with.",
        "Mend the baseline, or give the headers, defines and flags that its own build uses.",
    )
    UNKNOWN_KERNEL = ("unknown-kernel", "build", _WHOSE_SETUP,
        "The program has no kernel of that name, or more than one.",
        "Check --kernel and --candidate-kernel; name the arguments of a template: `layernorm<float, 4>`.",
    )
    ARGUMENTS_DIFFER = ("arguments-differ", "build", _WHOSE_SETUP,
        "The kernel takes other arguments than the workload gives.",
        "List the kernel's arguments in its own order under [[args]], and give every constexpr a value in [launch].",
    )
    SOURCE_NOT_ALLOWED = ("source-not-allowed", "build", _WHOSE_SETUP,
        "The program asks the compiler for a file of the machine or for a flag that is not on the list.",
        "Include only the toolkit's headers and headers beside the program; leave the flag out.",
    )
    COMPILER_LIMIT = ("compiler-limit", "build", _WHOSE_SETUP,
        "Compiling took more than its share of time, memory or disk, or the compiler died.",
        "Make compile-time loops and template recursion smaller.",
    )
    COMPILER_ENDED = ("compiler-ended", "build", _LACKS,
        "Something else than the gate ended the compiler, so that nothing is known of the program.",
        "Run it again; where memory runs out, the system ends what takes most of it.",
    )
    UNSUPPORTED_PROGRAM = ("unsupported-program", "build", _WHOSE_SETUP,
        "The program needs something that the gate does not give, such as profile scratch memory from the launcher.",
        "Rewrite that part, or judge the kernel by other means.",
    )
    COMPILER_MISSING = ("compiler-missing", "build", _LACKS,
        "NVRTC, nvcc or Triton is not installed or cannot be loaded.",
        "Install what the reason names: pip install 'kernel-lineage[cuda]' or 'kernel-lineage[triton]'.",
    )
    TOOLKIT_NEWER_THAN_DRIVER = ("toolkit-newer-than-driver", "build", _LACKS,
        "The driver does not take images of this CUDA toolkit.",
        "Update the driver, or install a toolkit not newer than the version that nvidia-smi shows.",
    )
    SANDBOX_UNAVAILABLE = ("sandbox-unavailable", "build", _LACKS,
        "The compiler cannot be shut in as it must be, and what it would compile is not trusted.",
        "Install what the reason names, or judge only code that you trust.",
    )
    # Check: the workload and the launch.
    LAUNCH_NOT_COMPUTABLE = ("launch-not-computable", "check", _WHOSE_SETUP,
        "An expression of the launch cannot be computed for a shape.",
        "Mend the expression that the reason names; it may use dims, scalar arguments and constexprs.",
    )
    LAUNCH_IMPOSSIBLE = ("launch-impossible", "check", _WHOSE_SETUP,
        "The launch asks for a grid or a block that no device takes.",
        "Compute the grid from the dims so that it stays within the limits that the reason names.",
    )
    LAUNCH_FAILED = ("launch-failed", "check", _WHOSE_SETUP,
        "The device refuses the launch: too much shared memory, too many registers, or arguments that do not fit.",
        "Compare the block size, the shared memory and the arguments with what the device and the kernel take.",
    )
    ORACLE_FAILED = ("oracle-failed", "check", _UNJUDGED,
        "The workload's oracle is missing, fails, takes too long or gives another shape than the workload says.",
        "Run the oracle's function by hand on small arrays; it gets inputs and scalars by name and returns outputs.",
    )
    WORKLOAD_DATA = ("workload-data", "check", _UNJUDGED,
        "A data file that the workload names cannot be read, or does not have the shape of its argument.",
        "Put the .npy file beside the workload, with the argument's shape and dtype.",
    )
    NOTHING_COMPARED = ("nothing-compared", "check", _UNJUDGED,
        "No case was compared, so that nothing is known.",
        "Give the workload's dims at least one shape with an element that the baseline takes.",
    )
    ONE_CASE_ONLY = ("one-case-only", "check", _UNCLEAR,
        "Only the case that was asked for was run; it agrees, which says nothing of the others.",
        "Run the gate without --case for a verdict.",
    )
    WORKLOAD_BLIND = ("workload-blind", "check", _UNCLEAR,
        "With these inputs a constant output would pass as well, so that agreement says nothing.",
        "Give inputs that vary, and a tolerance small beside the outputs.",
    )
    CHANGE_NOT_COMPILED = ("change-not-compiled", "check", _UNCLEAR,
        "What changed is in no image: constants that the workload gives the kernel leave it out.",
        "Give the workload the constants that compile it (constexpr, template_arguments), and what it then needs.",
    )
    WORK_BESIDE = ("work-beside", "check", _UNCLEAR,
        "The host code does other work beside this kernel than the baseline's, by kernels or PyTorch; none was run.",
        "Judge the host function (`klineage workload init FILE:FUNCTION` drafts one), or keep one kernel.",
    )
    LAUNCH_SKIPPED = ("launch-skipped", "check", _UNCLEAR,
        "The host code decides by what it keeps from call to call whether it launches; the baseline's does not.",
        "Launch on each call, or judge the host function with a workload of its own.",
    )
    CASE_TIME_SPENT = ("case-time-spent", "check", _UNCLEAR,
        "The cases that ran, if any, agree, but shapes that the workload names did not fit into the check's time.",
        "Use smaller dims (profile_dims may stay large), a GPU, or more time for the check.",
    )
    BASELINE_FAILS_CHECK = ("baseline-fails-check", "check", _UNCLEAR,
        "The baseline itself does not do what the workload says; the cause's own code is in the stage's details.",
        "Mend the workload (arguments, launch, oracle, tolerance) or the baseline first.",
    )
    UNSUPPORTED_INSTRUCTION = ("unsupported-instruction", "check", _UNJUDGED,
        "The emulated device does not know an instruction that the kernel reaches.",
        "Run with --device cuda; `klineage coverage` lists what is missing in a folder.",
    )
    COOPERATIVE_LAUNCH = ("cooperative-launch", "check", _UNJUDGED,
        "All blocks of the kernel wait for each other, which takes a cooperative launch; none is made on a GPU.",
        "Run with --device emulated, which checks it and cannot time it.",
    )
    # Check: values.
    WRONG_VALUE = ("wrong-value", "check", _REJECTS,
        "An element of an output differs from what is expected by more than the tolerance.",
        "Start at the first wrong element: its index, shape and seed repeat the failure.",
    )
    NOT_WRITTEN = ("not-written", "check", _REJECTS,
        "An element of an output still holds the pattern that it was filled with before the launch.",
        "Cover every element: look at the grid, the guards of the last block and the remainder of vector loops.",
    )
    NAN_MASK_DIFFERS = ("nan-mask-differs", "check", _REJECTS,
        "NaN or an infinity stands where the expected value is another kind of number, or the other way round.",
        "Look for overflow (subtract the maximum first), division by zero, and comparisons that swallow NaN.",
    )
    LESS_PRECISE = ("less-precise", "check", _REJECTS,
        "Every element passes, but all errors together are those of a lower precision than the signature says.",
        "Accumulate in the declared type or wider; if the lower precision is wanted, state it in [tolerance].",
    )
    NOT_REPEATABLE = ("not-repeatable", "check", _REJECTS,
        "The same inputs gave other bytes on another launch, and no sums by atomics or under locks explain it.",
        "Look for a missing barrier, a race between blocks, or memory that is read before it is written.",
    )
    KEEPS_STATE = ("keeps-state", "check", _REJECTS,
        "What one launch left behind changed the answer of a later one: addresses, device globals, counters.",
        "Compute every launch from its arguments alone; let the host reset counters through an argument.",
    )
    INVARIANT_VIOLATED = ("invariant-violated", "check", _REJECTS,
        "A data-flow invariant that the candidate's own comments state does not hold.",
        "The reason names both data and the lines that loaded them: mend the index that brought them together.",
    )
    INVARIANT_UNREADABLE = ("invariant-unreadable", "check", _UNCLEAR,
        "A comment that begins with `klineage:` is no invariant, or cannot be compiled where it stands.",
        "Mend the comment that the reason names; docs/invariants.md says what can be written.",
    )
    INVARIANT_UNDECIDED = ("invariant-undecided", "check", _UNCLEAR,
        "An invariant was not reached on any case that was watched, or never by data that have tags.",
        "Give the workload a small shape that reaches it, tag the argument that its data come from, or take it out.",
    )
    INPUT_OVERWRITTEN = ("input-overwritten", "check", _REJECTS,
        "The kernel wrote to an argument that is an input.",
        "Write to a scratch or output buffer; declare the argument inout when callers expect the change.",
    )
    NEEDS_ALIGNMENT = ("needs-alignment", "check", _REJECTS,
        "The candidate fails on buffers that start at an odd element, and the baseline does not.",
        "Guard the vector path by the address, or promise the alignment in the workload: align = 16.",
    )
    ALIAS_SENSITIVE = ("alias-sensitive", "check", _REJECTS,
        "The candidate is wrong when two of its arguments are the same buffer, where the baseline is right.",
        "Read before writing, without __restrict__ on these arguments; or promise that they never alias.",
    )
    # Check and sanitize: what a launch did wrong.
    OUT_OF_BOUNDS = ("out-of-bounds", "check", _WHOSE,
        "The kernel read or wrote outside a buffer.",
        "Guard the access at the line that the reason names; hidden shapes often reach it first.",
    )
    ILLEGAL_ADDRESS = ("illegal-address", "check", _WHOSE,
        "The GPU stopped the kernel at an address that belongs to no buffer.",
        "Run with --device emulated, which names the line, the thread and the element.",
    )
    ADDRESS_OVERFLOW = ("address-overflow", "check", _WHOSE,
        "A sum or a product of 32 bits wrapped, and memory was accessed by what became of it.",
        "Widen an operand before the arithmetic at that line (size_t, int64_t), or narrow what callers may pass.",
    )
    MISALIGNED = ("misaligned", "check", _WHOSE,
        "A vector access at an address that is not a multiple of its size.",
        "Guard the vector path by alignment and stride, and keep a scalar path.",
    )
    BARRIER = ("barrier", "check", _WHOSE,
        "Threads of a block wait at different barriers, or some never reach one.",
        "Move __syncthreads() out of branches that only part of the block takes.",
    )
    SHUFFLE = ("shuffle", "check", _WHOSE,
        "A warp shuffle or vote names lanes that do not take part in it.",
        "Use the mask of the lanes that reach the call, or let all 32 reach it.",
    )
    TRAP = ("trap", "check", _WHOSE,
        "The kernel stopped itself: an assertion, a trap, or an instruction that the device refuses.",
        "Look at the assertion or the line that the reason names.",
    )
    RACE = ("race", "sanitize", _WHOSE,
        "Two threads touch the same memory without order between them, and one of them writes.",
        "Put a barrier between the two lines that the reason names, or use atomics.",
    )
    UNINITIALISED_READ = ("uninitialised-read", "sanitize", _WHOSE,
        "The kernel read shared memory, scratch or an output before anything was written there.",
        "Initialise it in the kernel, with a barrier before the first use.",
    )
    SANITIZER_UNAVAILABLE = ("sanitizer-unavailable", "sanitize", _UNCLEAR,
        "No detector of races and uninitialised reads could watch the kernel.",
        "Install compute-sanitizer, or add a small shape to dims for the emulated detectors.",
    )
    # Profile.
    FASTER = ("faster", "profile", _ACCEPTS,
        "On every profiled shape the candidate is not slower, and on at least one it is faster beyond the noise.",
        "Nothing; the figures hold for this device, toolchain and these shapes.",
    )
    SAME_SPEED = ("same-speed", "profile", _ACCEPTS,
        "The candidate is as fast as the baseline within the noise, and no more was asked (need = not_slower).",
        "Nothing.",
    )
    NOT_FASTER = ("not-faster", "profile", _REJECTS,
        "The candidate is as fast as the baseline, and was to be faster.",
        "Keep the baseline; with --need not_slower a candidate that is as fast is accepted.",
    )
    SLOWER = ("slower", "profile", _REJECTS,
        "The candidate is slower than the baseline, beyond the noise, on every profiled shape.",
        "Keep the baseline; registers, spills and occupancy before and after are in the details.",
    )
    SLOWER_ON_A_SHAPE = ("slower-on-a-shape", "profile", _REJECTS,
        "The candidate is slower, beyond the noise, on a profiled shape, though not on all.",
        "Guard the new path by a condition that excludes that shape, and say so with --guard.",
    )
    AMBIGUOUS_NOISE = ("ambiguous-noise", "profile", _RIGHT,
        "The interval of the ratio reaches into the noise: neither a difference nor its absence is shown.",
        "Measure again, for longer, on a GPU that does nothing else, with locked clocks where you may lock them.",
    )
    AMBIGUOUS_CYCLES = ("ambiguous-cycles", "profile", _RIGHT,
        "The difference in time is not one in clock cycles: the clock differed between the two.",
        "Measure again when the GPU is cool and idle, or lock its clocks.",
    )
    IDENTICAL_SAMPLES = ("identical-samples", "profile", _RIGHT,
        "All samples are exactly equal, which no measurement is.",
        "See whether another tool intercepts the driver's events, then measure again.",
    )
    IMPLAUSIBLE_SPEED = ("implausible-speed", "profile", _UNCLEAR,
        "The candidate is faster than the device can move the bytes or do the operations of the workload.",
        "See whether the workload declares more than the kernel needs, or whether the kernel skips work.",
    )
    THROTTLED = ("throttled", "profile", _RIGHT,
        "The GPU lowered its clock for heat or power while it was measured.",
        "Let it cool, lower the power of neighbours, and measure again.",
    )
    NOT_PROFILED = ("not-profiled", "profile", _RIGHT,
        "There is no GPU to time on; the emulated device gives no times.",
        "Run the gate on a machine with a GPU; the other stages' results stand.",
    )
    NO_PROFILE_DIMS = ("no-profile-dims", "profile", _RIGHT,
        "The workload names no shape to time.",
        "Add [[profile_dims]] with the extents that matter to you.",
    )
    TIMING_FAILED = ("timing-failed", "profile", _RIGHT,
        "A profiled shape could not be launched or timed.",
        "See the reason: mostly the shape needs more memory than the GPU has.",
    )
    WRONG_AFTER_TIMING = ("wrong-after-timing", "profile", _REJECTS,
        "The outputs of the timed launches, or of one after them, are wrong.",
        "The kernel is right at first and wrong later or at this size: look for state, counters and index overflow.",
    )
    # Watch.
    NOT_WATCHED = ("not-watched", "watch", _ACCEPTS,
        "The emulated device, which watches for races and bad accesses beside a GPU, did not watch every case.",
        "Give it more time with --watch-seconds, or add smaller dims; without its detectors less is known.",
    )
    # fmt: on


FAULT_REASONS: Mapping[str, Reason] = {
    "out_of_bounds": Reason.OUT_OF_BOUNDS,
    "illegal_address": Reason.ILLEGAL_ADDRESS,
    "misaligned": Reason.MISALIGNED,
    "overflow": Reason.ADDRESS_OVERFLOW,
    "invariant": Reason.INVARIANT_VIOLATED,
    "race": Reason.RACE,
    "uninitialised": Reason.UNINITIALISED_READ,
    "barrier": Reason.BARRIER,
    "shuffle": Reason.SHUFFLE,
    "trap": Reason.TRAP,
    "launch": Reason.LAUNCH_FAILED,
    "timeout": Reason.HANG,
    "unsupported": Reason.UNSUPPORTED_INSTRUCTION,
    "cooperative": Reason.COOPERATIVE_LAUNCH,
    "input_changed": Reason.INPUT_OVERWRITTEN,
    "device_lost": Reason.DEVICE_LOST,
    "out_of_memory": Reason.OUT_OF_MEMORY,
}
"""`Fault.kind`, what a launch did wrong, as a reason code."""
