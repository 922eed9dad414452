"""What the gate sees of this machine as a tree: the devices, then what it builds and contains candidates with."""

from kernel_lineage.editor.views.tree import Node
from kernel_lineage.rewrite.doctor_document import DoctorDocument, Finding

_BUILDS = ("NVRTC", "nvcc", "Triton", "sandbox")


def device_nodes(examined: DoctorDocument) -> tuple[Node, ...]:
    """The rows, from what `klineage doctor` found."""
    by_name = {finding.what: finding for finding in examined.findings}
    tools = tuple(_tool(by_name[name]) for name in _BUILDS if name in by_name)
    missing = sum(node.kind == "missing" for node in tools)
    summary = f"{missing} missing" if missing else "all there"
    emulated = Node(
        id="emulated",
        label="Emulated device",
        description="always there: elements, bounds, races; no times, so no edits",
        tooltip="Runs kernels without a GPU and sees every access. It gives no times: edits need a GPU.",
        icon="vm",
    )
    return (
        *([_gpu(by_name["GPU"])] if "GPU" in by_name else []),
        emulated,
        Node(
            id="tools",
            label="Compilers and sandbox",
            description=summary,
            icon="tools",
            spoken=f"compilers and sandbox: {summary}",
            expanded=bool(missing),
            children=tools,
        ),
    )


def _gpu(finding: Finding) -> Node:
    if finding.present:
        return Node(
            id="GPU",
            label=finding.found,
            description=finding.needed_for,
            tooltip=f"{finding.found}\nUsed for {finding.needed_for}",
            icon="chip",
            color="testing.iconPassed",
            spoken=f"GPU: {finding.found}",
        )
    return Node(
        id="GPU",
        label="No GPU",
        description=finding.found,
        tooltip=f"{finding.found}\nNeeded for {finding.needed_for}",
        icon="circle-slash",
        spoken=f"no GPU: {finding.found}",
        kind="missing",
    )


def _tool(finding: Finding) -> Node:
    return Node(
        id=finding.what,
        label=finding.what,
        description=finding.found,
        tooltip=f"{finding.found}\nNeeded for {finding.needed_for}",
        icon="pass" if finding.present else "circle-slash",
        color="testing.iconPassed" if finding.present else "list.warningForeground",
        spoken=f"{finding.what}: {'' if finding.present else 'missing: '}{finding.found}",
        kind="" if finding.present else "missing",
    )
