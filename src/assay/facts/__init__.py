"""What is known of engines, hardware and formats? Facts are data files; this package only reads them."""

from assay.facts.load_facts import load_facts
from assay.facts.types import Fact, FactBase

__all__ = ["Fact", "FactBase", "load_facts"]
