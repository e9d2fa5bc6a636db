"""Which engines can serve the profile, which can't, why, and what stays to be verified?"""

from assay.shortlist.shortlist import read_shortlist, shortlist, write_shortlist
from assay.shortlist.types import Artifact, Candidate, InstalledEngine, Inventory, Reason, Rejection, Shortlist

__all__ = [
    "Artifact",
    "Candidate",
    "InstalledEngine",
    "Inventory",
    "Reason",
    "Rejection",
    "Shortlist",
    "read_shortlist",
    "shortlist",
    "write_shortlist",
]
