"""From a candidate to what its engine's adapter needs, and the check that the adapter takes it."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from assay.core.errors import BadInputError, Problem
from assay.engines import LaunchRequest, engine_named
from assay.shortlist import Candidate


def launch_request(candidate: Candidate) -> LaunchRequest:
    """Return how to start a candidate; raises ``ValueError`` for an attached server, which is not started."""
    if candidate.python is None or candidate.artifact is None:
        raise ValueError(f"{candidate.name} is not started by assay")
    return LaunchRequest(
        python=Path(candidate.python),
        artifact=Path(candidate.artifact.path),
        served_name=candidate.model_name,
        context_tokens=candidate.context_tokens,
        settings=candidate.settings,
        port=candidate.port or 0,
        threads=candidate.cores,
    )


def require_settings(candidates: Iterable[Candidate]) -> None:
    """Raise ``BadInputError`` with every setting that an adapter refuses, before anything is started."""
    problems: list[Problem] = []
    for candidate in candidates:
        engine = engine_named(candidate.engine)
        if candidate.url is not None:
            continue
        try:
            engine.command(launch_request(candidate))
        except BadInputError as error:
            where = f"candidate '{candidate.name}', settings"
            problems.extend(replace(problem, where=where) for problem in error.problems)
    if problems:
        raise BadInputError(problems)
