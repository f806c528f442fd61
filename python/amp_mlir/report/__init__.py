"""What was decided, compiled and trained, as text, JSON and one self-contained HTML page."""
from .report import Report

__all__ = ["Report"]
