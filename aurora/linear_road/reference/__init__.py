"""The right answers, computed in Spark: one module of rules for each edition of the benchmark."""

from aurora.linear_road.reference.answers import Reference, reference_answers

__all__ = ["Reference", "reference_answers"]
