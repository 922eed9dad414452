"""What `klineage applicable --offers --json` prints."""

from __future__ import annotations

from pydantic import BaseModel, Field

from kernel_lineage.rewrite.standing import Standing

VERSION = 1


class OfferDocument(BaseModel):
    """A skill of which an assist has made a candidate."""

    skill: str
    line: int
    where: str
    """What is seen there that the skill applies to."""
    guarded: bool
    """The old code runs where the condition fails."""
    measured: str
    """The range of everything that was measured of the skill, rejected uses included."""
    hypothesis: bool = False
    """No verified use on another kernel has admitted the skill."""
    gainless: str = ""
    """The condition of its profit that fails there, as a sentence: then no gain is expected of it."""


class RefusedDocument(BaseModel):
    """A skill that has a place in the kernel and of which there is no candidate."""

    skill: str
    standing: Standing = Standing.DOES_NOT_APPLY
    reason: str


class KernelOffersDocument(BaseModel):
    """What can be done to one kernel, in the order in which it is to be tried."""

    kernel: str
    line: int
    offers: list[OfferDocument] = Field(default_factory=list)
    refused: list[RefusedDocument] = Field(default_factory=list)


class OffersDocument(BaseModel):
    """What `klineage applicable --offers --json` prints."""

    version: int = VERSION
    kernels: list[KernelOffersDocument]
    notes: list[str] = Field(default_factory=list)
    """Why some facts are not known: no workload, no device."""
