"""What must be served, how fast? Reads and checks the workload profile."""

from assay.profile._schema import profile_schema
from assay.profile.load_profile import LoadedProfile, load_profile, read_profile, write_profile
from assay.profile.types import (
    ArtifactSource,
    CandidateRequest,
    Hardware,
    Model,
    Objective,
    ObjectiveMetric,
    RequestClass,
    Slo,
    Traffic,
    WorkloadProfile,
)

__all__ = [
    "ArtifactSource",
    "CandidateRequest",
    "Hardware",
    "LoadedProfile",
    "Model",
    "Objective",
    "ObjectiveMetric",
    "RequestClass",
    "Slo",
    "Traffic",
    "WorkloadProfile",
    "load_profile",
    "profile_schema",
    "read_profile",
    "write_profile",
]
