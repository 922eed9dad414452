"""docs/verdicts.md: every standing and every reason code, from the table that the gate itself uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from kernel_gate.reasons import Reason, Where
from kernel_gate.standing import Standing

_TITLES = {
    "run": "The whole run",
    "build": "Build",
    "check": "Check",
    "sanitize": "Sanitize",
    "profile": "Profile",
    "watch": "Watch",
}


def render() -> str:
    """The page in Markdown; the same table gives the same bytes."""
    introduction = _INTRODUCTION.replace("STANDINGS", "\n".join(_standings()))
    parts = ["# Verdicts", introduction, "## Reason codes", _CODES, _index()]
    for where in get_args(Where):
        parts += [f"## {_TITLES[where]}", *_entries(where)]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
A verdict has one of three outcomes: *accepted*, *rejected*, *inconclusive*. Only *accepted* lets an edit through. Its
`standing` tells apart what *inconclusive* stands for, by the code that decided; commands end with its exit status.

| standing | outcome | exit status | comes about when |
|---|---|---|---|
STANDINGS

Exit status 2 is wrong use: a file that is missing, a workload that cannot be read. Where the device that was asked
for is missing there is no verdict: the exit status is 4 and the message says what to do.

## How an outcome comes about

1. **Build.** Both programs are compiled in a child process that is shut in; only device code comes out of it. What
   does not compile is the candidate's fault or the baseline's, and the verdict tells the two apart.
2. **Check.** The gate's own process makes the inputs, poisons the outputs, launches the image on its own guarded
   buffers and compares every element: named shapes, drawn ones around them, shapes for both sides of branches over
   arguments, values drawn anew, around the code's constants, all above and all below them, all inputs tiny and large
   at once, repeated launches, new data at the same addresses. Where the workload gives an integer as a number, others
   are tried too: what is wrong there is a condition (`seed == 5`) and no fault, as callers may mean that one.
   The seed is drawn for each verdict and kept in it; `--seed` repeats it. Without a GPU the callers' sizes follow,
   and warps are run in unkind orders. What the candidate needs and the baseline does not is a condition. What is
   expected comes from the workload's float64 oracle or, without one, from the baseline. The tolerance is derived from
   the type, the terms of the baseline's sums as counted while it ran, and its own error; the stage's details say how.
   On small cases both programs also run with exact arithmetic in finite fields beside their floats. Where that shows
   the same expression in another order, a difference of up to 16 times the tolerance is the order's; where it shows
   another expression, the candidate must agree to within a few roundings, and the verdict names the first element.
   `algebra` in the details has the answers; *open* means that a float went through integer arithmetic, that the case
   was too large, or that the time (`--algebra-seconds`) was spent: then nothing follows from it.
3. **Sanitize.** Detectors look for races, reads of what was never written, barriers that not all threads reach, and
   accesses outside a buffer, on launches that the check has found right. Where the check has failed because launches
   differ or buffers may not alias, and a detector has seen a race or an uninitialised read on the same shape, that is
   the verdict's code, and `symptom` in the details says how it showed.
4. **Watch.** Beside a GPU the emulated device answers the same question in a process of its own, with the same seed.
   What it rejects is rejected. What it did not get to within `--watch-seconds` (10 by default) is said.
5. **Profile.** Baseline and candidate are timed in interleaved pairs with a cold L2 cache; baseline against baseline
   gives the noise. Everything starts as *ambiguous*: *fast* and *slow* must be earned by the whole interval of the
   ratio, beyond the noise, in time and in clock cycles, on every profiled shape. There is no time without a GPU.
   Outputs of timed launches, drawn at random, are compared as well, and after the last one the same addresses get new
   data. A timed launch may take 50 times what one took before, and 2 s (`--launch-seconds`, if that is less): one that
   fails or does not end is held against the program that was launched.
6. **Prove.** `klineage gate` and `klineage apply` ask for proofs of both programs meanwhile: bounds, written at all
   and only once, 32-bit addresses, for all sizes that the promises allow. What the baseline keeps and the candidate
   loses at callers' sizes rejects, once running the kernel has shown the counterexample; beyond them it is a
   condition. The gate itself (`python -m kernel_gate`) knows no proofs.
7. **Narrow.** Of a candidate that is rejected, `klineage gate --narrow-seconds S` asks the emulated device where it is
   right: the one-line summary then ends with `narrower: right where C % 4 == 0`, and `narrower` in the failed stage's
   details has each condition with the cases that were tried on both sides. It stays rejected.

The first stage that fails ends the run; the ones after it are `skipped`. A stage that could not run is
`unavailable`, is never passed over in silence, and the verdict is then at most inconclusive.

## What *accepted* promises

On this device, with this toolchain, for these sources, this workload, these seeds and these shapes (all hashed or
named in the evidence), every compared element was right, no detector found anything, and the candidate was faster
(or, when so asked, not slower) beyond the noise on every profiled shape.

## What it does not promise

Correctness on inputs and shapes that were not run; containment of code that attacks the GPU driver; fairness to code
that is tuned to the hidden shapes; the same speed on another device, driver, clock or neighbour.
[SECURITY.md](../SECURITY.md) says what the gate holds off, [emulated-device.md](emulated-device.md) what a check
without a GPU does and does not say.

## What a verdict stands on

`--json` prints the whole verdict, `--evidence` keeps it: a `.json` file, or a folder with one file for each verdict.

| where | what |
|---|---|
| `inputs_hash` | SHA-256 over both programs, the workload, its companion files and the options |
| `environment.sha256` | of each of them: sources, headers, workload; `environment.companions`: oracle and data files |
| `environment` | device, driver, clocks, compilers, sandbox, versions, the gate's own code, options, seed, time |
| `stages[build].details` | architecture, and for both programs the images' SHA-256, registers, spills, shared memory |
| `stages[check].details` | cases with their seeds, tolerances with reasons, errors of both, cases that were dropped |
| `stages[sanitize].details` | detectors, launches, findings with lines |
| `stages[profile].details` | for each shape: samples (of `samples_of` blocks), clocks, noise, work beside the peaks |

`klineage schema gate` prints the schema.

## Reports

- `--junit FILE`, for the test reports of CI: a suite for each verdict, a case for each stage. A stage that failed is
  a failure, one that could not say an error; one that was not reached, or has no GPU to time on, is skipped.
- `--sarif FILE`, for code scanning: a rule for each code, a result at the line of the candidate's file. Rejected is an
  error, right without times a note, everything else a warning.
- `--summary FILE`, and `--github-summary` for `$GITHUB_STEP_SUMMARY`: Markdown.
- `--html FILE`: one page, without network or script, with plots: ratio by shape, distributions,
  roofline; times with a warm cache (`--warm`), and temperature, power, clock and throttle reasons meanwhile.

## Verdicts that are kept

In a repository, `klineage gate` keeps accepted and rejected verdicts in the cache file and answers the same
question from there, saying so. The same question is the same `inputs_hash`, compilers, gate, device, driver and power
limit; anything else is judged anew, and `--no-cache` always does. What is kept is signed with a key of the user's own,
so that a cache that comes with a repository is worth nothing. A run that is interrupted after the check and the
sanitizers have passed goes on from there the next time. Deleting the file loses time, never knowledge."""

_CODES = """\
Every stage that does not simply pass has a `code` beside its `reason`, and the verdict has the code of the stage that
decided. Codes are stable: none is renamed or given another meaning. Where a code leads to *rejected* or
to something else, it rejects when the candidate is at fault."""


def _standings() -> Iterator[str]:
    for standing in reversed(Standing):
        outcome = standing.value if standing.is_conclusive else "inconclusive"
        yield f"| {standing} | {outcome} | {standing.exit_code.value} | {standing.means} |"


def _index() -> str:
    rows = ["| code | stage | leads to |", "|---|---|---|"]
    rows += [f"| [{r}](#{r}) | {r.stage} | {' or '.join(r.leads_to)} |" for r in Reason]
    return "\n".join(rows)


def _entries(where: Where) -> Iterator[str]:
    for reason in Reason:
        if reason.stage == where:
            yield f"### {reason}\n\n{reason.means}\n\n*What to do:* {reason.remedy}"
