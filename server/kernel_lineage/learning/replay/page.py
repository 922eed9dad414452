"""docs/replay.md: how a history is replayed, and every code that replaying adds to the gate's."""

from __future__ import annotations

from kernel_lineage.learning.probes.registry import axes
from kernel_lineage.learning.replay.codes import Code


def render() -> str:
    """The page in Markdown; the same table gives the same bytes."""
    moved = [f"| {axis.title} | {axis.moves} |" for axis in axes().values()]
    codes = [f"| `{code}` | {code.means} | {code.remedy} |" for code in Code]
    tables = (
        _AXES,
        "| fact | moved |",
        "|---|---|",
        *moved,
        "",
        _CODES,
        "| code | means | what to do |",
        "|---|---|---|",
    )
    return "\n".join([_TEXT, *tables, *codes])


_TEXT = """\
# Replaying a history

Mining infers from text and messages what each step of a history did. `klineage replay` runs it: both states of a
transition are taken from git's objects, built, checked against each other and, on a GPU, timed.

```
klineage replay                                    # the repository around the current folder
klineage replay REPO --kernel layernorm_forward_kernel3
klineage replay REPO --paths 'dev/cuda/*' --since v1.2 --intent optimisation
klineage replay REPO --device cuda --seconds 1200  # go on later: run it again
klineage replay REPO --json
```

Optimisations, fixes and reverts are replayed unless `--intent` says otherwise. The edges between numbered variants
of one tree are transitions like those between commits.

## What runs

- **States.** Each state is written to a private folder from its own commit, headers included; nothing newer lies
  there. Variants share the folder of their tree. The folders are gone when the step is done.
- **Workload.** One for both states: the repository's (`.klineage/workloads`) that names the kernel, under this or
  an earlier name; else one drafted from the launch site of the earlier state, of the later one, or of another version
  of the lineage, which often stands in a file that has the sizes when a header has not. Arguments go by name. A
  number that only one state takes is computed from the sizes as that state's launch site says; a buffer that was
  renamed is matched when only one can be meant. Where the states call their sizes otherwise, the arguments of both
  tell which is which. A Triton state whose own tests do not reach the kernel is read with the tests of the other
  state; where the callers of the two chose other modes, one mode is taken for both. An element type that is an option
  of the build, or the caller's choice, is taken as float where the states differ in it. Outputs that only one state
  writes, or that hold a row for each block, are no reason to call a state wrong. Where nothing of this succeeds the
  code is `contract-differs`.
- **Sight.** Agreement under a drafted workload counts only when the workload notices wrong forms of the earlier
  state (an output of zero, a dropped term); else the code is `workload-blind`.
- **Judge.** The gate, with the earlier state as the baseline. For a fix or a revert it is the other way round: the
  later state is the baseline, and the failure is looked for in the earlier one.

## What comes of it

| status | what it means |
|---|---|
| reproduced | An optimisation: both states give the same, and no GPU shows that nothing was won. |
| | A fix: the earlier state fails where the later one is right. A revert: it fails, or is slower. |
| narrower | An optimisation that is right on less than before: on what the workload names, or where the conditions |
| | hold that its reason states, which probing has learned from a step that fails on what the workload names. |
| failed | An optimisation: the later state is wrong, or a GPU shows that it is not faster. |
| | A fix: the later state fails by itself. A revert: a GPU shows that nothing was won. |
| unbuildable | A state does not build with today's toolchain; the compiler's first error is given. |
| undecided | It could not be run, the failure was not seen, or the times are unclear or missing. |

| label | says |
|---|---|
| inferred | only history speaks of it |
| reproduced | it was run, and does what history says of its results |
| measured here | a GPU timed both states; the effect, with its interval, device and shapes, is in `effect` |

On the emulated device `effect` is null. What both states cost there (sectors, wavefronts, instructions, on one
case) is in `counts`, before and after: facts about the code, never a time. What a fix shows of the earlier state is
kept, with its sizes, as a risk of the step that it answers. An optimisation of which history itself says that it
was slower claims no gain: it is reproduced when it gives the same.

`conditions` are those that guards of the code and of later commits teach, and those that probes find, each with its
origin, and with its truth under the step's workload, as `klineage applicable` has them.

## What is learned

An optimisation whose two states agree on the workload's own sizes is studied (`--no-learn` leaves this out):

- **Parts.** The difference is cut into edits (a statement, a block with its braces, the launch; what only makes sense
  together is one). Sets of edits are tried on the emulated device until the step is a row of parts, each right where it
  stands and with nothing that can be left out: delta debugging through the gate. Each part has its own mechanisms and
  its own effect, `interactions` says which part needs or pays only after which. What could not be split in the time
  that one step has is the last part: it is `compound`, with the reason, and teaches no skill.
- **Conditions.** Each part that adds a mechanism is probed: one fact at a time is moved over its boundaries, and where
  the later state fails while the earlier one is right lies a validity condition, with its smallest counterexample. What
  is moved stands [below](#what-probes-move). Huge sizes run nowhere and are derived by proof, where the earlier state
  does not need them as well: bounds under which no 32-bit integer overflows in an address, and limits of the grid.
  Cases that only just break a condition are asked last. Where they are often right, no predicate of the grammar says it
  better, and the evidence tells: *sufficient, not necessary: right in 4 of 20 cases tried on the other side*.
- **Work that is repeated.** Wrong bounds of a loop may leave every result right. What the later state stores again,
  though it is stored, is counted on the emulated device, and where launches or sizes decide it, that is a profit
  condition, which says that nothing was timed.
- **Skills.** Parts with the same mechanism at the same kind of place are one skill: the card of that mechanism, in its
  own names, with what was learned, the evidence, the risks, and refusing cases for what failed. Learned conditions of
  which one implies the other are the carrier's choice (four-wide loads, eight-wide ones): the weaker is the skill's.
  A step that is right where the card says that it cannot be is something else, and refused.
- **Admission.** The skill is carried over by its assist to earlier states of other lineages that have a place for it,
  and, without what a lineage itself taught, to that lineage's own; the gate must accept one as faster, so a GPU is
  needed. `skills` says what was proposed, admitted, and refused and why.

What is valid is written to `.klineage/skills`, for review and commit; what is not admitted is shown as a hypothesis and
not offered. A folder there without `lineage.json` is somebody's own work and stays as it is. It holds the repository's
own code as cases. `klineage skills adopt REPO/.klineage/skills --into LIBRARY` takes it over into another library as
facts: conditions, risks and verdicts go to the cards of the same names, counterexamples become refusing cases on the
library's own examples.

## Going on, and again

Results are kept in the cache file, by transition and device, signed with a key of the user's own. A run
that is killed or cut short goes on where it was; a second run asks the gate nothing; a new commit costs what is
new. A result is worked out anew when a state, the workload, the device, a compiler or the code that judges is
another. Deleting the file loses time, never knowledge. `--jobs` emulated devices or one worker on each GPU judge
side by side; beside GPUs the rest of the processor splits and probes, what can teach most first, a step for 120 s at
most. Steps are prepared and studied in processes of their own, one for four
cores beside one for each worker; when one of them dies, its step is said to be lost, the others go on, and the next run
does it again. A run that ends by `--seconds` distils what it knows all the same, what earlier runs learned included.
Progress goes to stderr, a line for each transition that is finished, with an estimate of what remains.

The exit status is 0 when every transition was replayed, whatever came of it, 5 when some are left (`--limit`,
`--seconds`), 2 for wrong use, 4 when the device is missing.
"""

_AXES = """\
## What probes move
"""

_CODES = """\
## Codes

Beside the gate's own codes ([verdicts.md](verdicts.md)):
"""
