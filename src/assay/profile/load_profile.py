"""From a YAML file to a workload profile, or to every problem of the file with its line."""

from dataclasses import dataclass
from pathlib import Path

from assay.core.artifact import read_artifact, write_artifact
from assay.core.yaml_file import load_document, parse_document
from assay.profile.types import WorkloadProfile

PROFILE_KIND = "assay/profile/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedProfile:
    """A checked profile and where it came from."""

    profile: WorkloadProfile
    directory: str
    """Directory that relative paths of the profile start from."""
    source: str
    """Path of the YAML file as given."""
    source_digest: str


def load_profile(path: Path) -> LoadedProfile:
    """Read and check a profile; raises ``BadInputError`` with all problems at once."""
    document = load_document(path)
    profile = parse_document(document, WorkloadProfile)
    return LoadedProfile(
        profile=profile, directory=str(path.resolve().parent), source=str(path), source_digest=document.digest
    )


def write_profile(path: Path, loaded: LoadedProfile) -> str:
    """Write the checked profile as the first file of a run and return its digest."""
    return write_artifact(
        path, kind=PROFILE_KIND, body=loaded, inputs={"profile_source": loaded.source_digest}, seed=loaded.profile.seed
    )


def read_profile(path: Path) -> tuple[LoadedProfile, str]:
    """Return the profile of a run and the digest of its file."""
    artifact = read_artifact(path, kind=PROFILE_KIND, body_type=LoadedProfile)
    return artifact.body, artifact.digest
