"""Checks: every query evaluated again, in batch, by DuckDB over the same files, and the results compared."""

from aurora.nexmark.check.agreement import Agreement, Difference
from aurora.nexmark.check.checking import check, contrast, evaluate
from aurora.nexmark.check.rules import Rules

__all__ = ["Agreement", "Difference", "Rules", "check", "contrast", "evaluate"]
