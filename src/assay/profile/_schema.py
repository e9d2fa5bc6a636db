"""The JSON Schema of the profile, for editors and other tools."""

from typing import Any

from assay.profile.types import WorkloadProfile


def profile_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a profile file."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(WorkloadProfile).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Assay workload profile", **schema}
