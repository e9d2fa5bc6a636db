"""How does a person see it? One HTML file that opens offline."""

from assay.report._profile_words import describe_profile
from assay.report.write_report import ReportInput, write_report

__all__ = ["ReportInput", "describe_profile", "write_report"]
