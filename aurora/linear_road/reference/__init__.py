"""The right answers, computed in Spark; constants, toll and deadlines come from the edition."""

from aurora.linear_road.reference.answers import Reference, reference_answers

__all__ = ["Reference", "reference_answers"]
