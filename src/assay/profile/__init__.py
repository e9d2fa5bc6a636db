"""What must be served, how fast? Reads and checks the workload profile."""

from assay.profile._schema import profile_schema
from assay.profile.load_profile import LoadedProfile, load_profile
from assay.profile.types import (
    ArtifactSource,
    CandidateRequest,
    Hardware,
    Model,
    Objective,
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
    "RequestClass",
    "Slo",
    "Traffic",
    "WorkloadProfile",
    "load_profile",
    "profile_schema",
]
