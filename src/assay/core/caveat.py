"""A caveat: a doubt that travels with a result from where it arises to the decision and the report."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Caveat:
    """One doubt about one result."""

    id: str
    """Stable and greppable, such as ``converted-artifact``."""
    text: str
    """What is doubtful, as a whole sentence."""
    subject: str | None = None
    """What the doubt is about (a candidate, a trial, a metric); ``None`` when it concerns the whole run."""
    remedy: str | None = None
    """What would remove the doubt; ``None`` when nothing here can."""
    forbids_performance_decision: bool = False
    """True for mocks, stand-in kernels and other evidence that must never decide about speed."""
