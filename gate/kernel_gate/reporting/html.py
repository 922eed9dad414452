"""Verdicts as one HTML page: no network, no script; plots are SVG in the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernel_gate.cleaning import for_templates
from kernel_gate.reporting import plots
from kernel_gate.reporting.device_states import state_rows, warm_rows
from kernel_gate.reporting.figures import dims_text, interval, times
from kernel_gate.reporting.named import NamedVerdict, counts, deciding
from kernel_gate.verdict import Outcome, Stage, Verdict, conditions_of

_TEMPLATE = "verdicts.html.j2"
_MOST_TEXT = 4000


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture with what it shows."""

    title: str
    picture: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """One verdict as the page shows it."""

    anchor: str
    judged: NamedVerdict
    ran: str
    """On which device, and when."""
    advice: tuple[str, str] | None
    """What the code means and what to do; None for an accepted candidate."""
    plots: tuple[Plot, ...]
    shapes: tuple[tuple[str, str, str, str, str], ...]
    warm: tuple[tuple[str, str, str, str, str], ...]
    """As `shapes`, with a warm cache."""
    states: tuple[tuple[str, str, str, str, str, str], ...]
    """Shape, moment, temperature, power, SM clock, throttle reasons."""
    resources: tuple[tuple[str, str, str], ...]
    """What the images take, baseline and candidate."""
    outputs: tuple[tuple[str, str, str, str], ...]
    """Output, allowed error with its reason, the candidate's and the baseline's worst error."""
    conditions: tuple[str, ...]
    """What the candidate needs and the baseline does not, as expressions."""
    counted: str
    """The case whose counts these are; "" when nothing was counted."""
    counts: tuple[tuple[str, str, str, str], ...]
    """What was counted, baseline, candidate and the change, where they differ."""
    difference: tuple[tuple[str, str], ...]
    """Lines of the diff, each with its class: `add`, `del`, `hunk` or ""."""
    finding: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]


def render(judged: Sequence[NamedVerdict]) -> str:
    """The page. Everything that comes from a program, a workload or a device is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kernel_gate.reporting", "."),
        autoescape=True,
        finalize=for_templates,
        undefined=StrictUndefined,
    )
    views = [_view(one, number) for number, one in enumerate(judged, 1)]
    return environment.get_template(_TEMPLATE).render(counts=counts(list(judged)), views=views)


def _view(judged: NamedVerdict, number: int) -> View:
    verdict = judged.verdict
    code = verdict.code if verdict.outcome is not Outcome.ACCEPTED else None
    return View(
        anchor=f"verdict-{number}",
        judged=judged,
        ran=" · ".join(filter(None, _ran(verdict.environment))),
        advice=(code.means, code.remedy) if code is not None else None,
        plots=tuple(_plots(verdict)),
        shapes=tuple(
            (dims_text(s.dims), times(s), interval(s), f"±{s.noise:.2%}", s.state.value)
            for s in (verdict.speedup.by_shape if verdict.speedup else ())
        ),
        warm=tuple(warm_rows(_profiled(verdict))),
        states=tuple(state_rows(_profiled(verdict))),
        resources=tuple(_resources(verdict.stage("build"))),
        outputs=tuple(_outputs(verdict.stage("check"))),
        conditions=tuple(conditions_of(verdict)),
        counted=str(_counted(verdict).get("case", "")),
        counts=tuple(_counts(_counted(verdict))),
        difference=tuple(_difference(judged.difference)),
        finding=tuple(_finding(verdict)),
        environment=tuple(_flat({"inputs_hash": verdict.inputs_hash, **verdict.environment})),
    )


def _ran(environment: Mapping[str, Any]) -> tuple[str, str, str]:
    device, made = environment.get("device") or {}, str(environment.get("made") or "")
    reused = "kept from an earlier run" if environment.get("reused") else ""
    return str(device.get("name") or ""), made.replace("T", " ").replace("+00:00", " UTC"), reused


def _plots(verdict: Verdict) -> Iterator[Plot]:
    if verdict.speedup is not None and verdict.speedup.by_shape:
        note = "Each line is the 95 % interval of the ratio; the band is what identical programs differ by."
        yield Plot("Speed-up by shape", plots.ratios(verdict.speedup.by_shape), note)
    shapes = _profiled(verdict)
    work = [share for shape in shapes if (share := _work(verdict, shape)) is not None]
    if work and all(w.flop > 0 and w.peak_flop_per_second > 0 for w in work):
        yield Plot("Roofline", plots.roofline(work), "From the bytes and operations that the details name.")
    elif work:
        note = (
            "From the bytes of the declared arguments; what is read twice or kept in a cache is counted once."
        )
        yield Plot("Bandwidth", plots.bandwidth(work), note)
    for shape in shapes:
        samples = shape.get("samples") or {}
        if samples.get("baseline_us") and samples.get("candidate_us"):
            picture = plots.distribution(samples["baseline_us"], samples["candidate_us"])
            count = f"{len(samples['baseline_us'])} and {len(samples['candidate_us'])} samples"
            kept = shape.get("samples_of") or {}
            if kept and kept["blocks"] < kept["of"]:
                count += f" (those of {kept['blocks']} of {kept['of']} blocks)"
            yield Plot(
                f"Times at {dims_text(shape['dims'])}", picture, f"{count}, interleaved, cold L2 cache."
            )


def _profiled(verdict: Verdict) -> list[Mapping[str, Any]]:
    stage = verdict.stage("profile")
    return list(stage.details.get("shapes") or []) if stage is not None else []


def _work(verdict: Verdict, shape: Mapping[str, Any]) -> plots.Work | None:
    """What the profile says of a shape's bytes and operations, if it does."""
    speeds = verdict.speedup.by_shape if verdict.speedup else []
    speed = next((s for s in speeds if s.dims == shape.get("dims")), None)
    if speed is None or not shape.get("bytes_declared") or not shape.get("peak_bytes_per_second"):
        return None
    return plots.Work(
        dims_text(speed.dims),
        float(shape["bytes_declared"]),
        float(shape.get("flop") or 0.0),
        speed.baseline_us,
        speed.candidate_us,
        float(shape["peak_bytes_per_second"]),
        float(shape.get("peak_flop_per_second") or 0.0),
    )


def _resources(stage: Stage | None) -> Iterator[tuple[str, str, str]]:
    """Registers, spills and shared memory: before and after."""
    if stage is None:
        return
    before, after = stage.details.get("baseline"), stage.details.get("candidate")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return
    for name in before:
        if name in after and (before[name], after[name]) != (None, None):
            yield name.replace("_", " "), _shown(before[name]), _shown(after[name])


def _counted(verdict: Verdict) -> Mapping[str, Any]:
    """What the emulated device counted of both programs in one case; empty when it did not run."""
    stage = verdict.stage("sanitize")
    return (stage.details.get("counts") or {}) if stage is not None else {}


def _counts(counted: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    before, after = (counted.get(side, {}).get("total", {}) for side in ("before", "after"))
    for name, old in before.items():
        new = after.get(name)
        if all(isinstance(n, int | float) for n in (old, new)) and old != new:
            change = f"{new / old - 1:+.0%}" if old else ""
            yield name.replace("_", " "), f"{old:,.6g}", f"{new:,.6g}", change


def _difference(diff: str) -> Iterator[tuple[str, str]]:
    kinds = {"@": "hunk", "+": "add", "-": "del"}
    for line in diff.splitlines():
        if not line.startswith(("+++ ", "--- ")):
            yield kinds.get(line[:1], ""), line


def _outputs(stage: Stage | None) -> Iterator[tuple[str, str, str, str]]:
    if stage is None:
        return
    errors = stage.details.get("errors") or {}
    for name, why in (stage.details.get("tolerances") or {}).items():
        worst = errors.get(name) or {}
        yield name, _shown(why), _error(worst.get("candidate")), _error(worst.get("baseline"))


def _error(value: object) -> str:
    return f"{value:.2e}" if isinstance(value, float) else ""


def _finding(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Details of the stage that decided, as far as they are short."""
    stage = deciding(verdict)
    if stage is None or verdict.outcome is Outcome.ACCEPTED or stage.name == "profile":
        return
    drawn = {"tolerances", "errors", "baseline", "candidate"}
    yield from _flat({k: v for k, v in stage.details.items() if k not in drawn})


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Nested values by their dotted names."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif value not in (None, "", [], ()):
            yield f"{before}{name}", _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], Mapping):
            return "\n".join(", ".join(f"{k} {v}" for k, v in item.items()) for item in value)[:_MOST_TEXT]
        words = [str(item) for item in value]
        return ("\n" if any(", " in word for word in words) else ", ").join(words)[:_MOST_TEXT]
    return str(value)[:_MOST_TEXT]
