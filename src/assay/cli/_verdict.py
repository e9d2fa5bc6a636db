"""The last two stages: from a run directory's trials to ``decision.json`` and ``report.html``."""

from collections.abc import Sequence
from pathlib import Path

from assay.cli._stages import DECISION_NAME, REPORT_NAME, Run, ensure_shortlist, ensure_sizing, require_plan
from assay.core.errors import bad_input
from assay.core.ids import digest_file
from assay.decide import Decision, decide, read_decision, write_decision
from assay.experiments import RECORDS_NAME, RESULT_NAME, RunStore, TrialResult
from assay.load import RequestRecord, load_records
from assay.report import ReportInput, write_report


def make_decision(run: Run) -> Decision:
    """Judge what was measured and write the decision; raises ``BadInputError`` when nothing was."""
    planned, plan_digest = require_plan(run)
    store = RunStore(run.directory)
    results = store.results(planned)
    if not results:
        raise bad_input("has no finished trial", where=str(run.directory), next_step=f"run: assay run {run.directory}")
    decision = decide(
        planned,
        results,
        store.failures(),
        load_records=lambda result: records_of(store, result),
        run_directory=str(run.directory),
        profile_source=run.loaded.source,
    )
    digests = {result.trial.id: digest_file(store.trial_directory(result.trial) / RESULT_NAME) for result in results}
    write_decision(run.path(DECISION_NAME), decision, plan_digest=plan_digest, trial_digests=digests)
    return decision


def make_report(run: Run) -> Path:
    """Write the report of a decided run and return its path."""
    decision, decision_digest = read_decision(run.path(DECISION_NAME))
    planned, plan_digest = require_plan(run)
    listed, shortlist_digest = ensure_shortlist(run)
    sizing, _ = ensure_sizing(run)
    store = RunStore(run.directory)
    results = store.results(planned)
    path = run.path(REPORT_NAME)
    write_report(
        path,
        ReportInput(
            loaded=run.loaded,
            shortlist=listed,
            sizing=sizing,
            plan=planned,
            results=results,
            failures=store.failures(),
            records={result.trial.id: records_of(store, result) for result in results},
            decision=decision,
            digests={
                "profile": run.profile_digest,
                "facts": run.facts.digest,
                "shortlist": shortlist_digest,
                "plan": plan_digest,
                "decision": decision_digest,
            },
            run_directory=str(run.directory),
        ),
    )
    return path


def records_of(store: RunStore, result: TrialResult) -> Sequence[RequestRecord]:
    """Return the measured requests of one trial."""
    return load_records(store.trial_directory(result.trial) / RECORDS_NAME)
