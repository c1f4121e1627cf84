"""The queries of the draft and of the suites in use, each as an Aurora network."""

from aurora.nexmark.queries.catalogue import QUERIES, Measure, Query, query_network
from aurora.nexmark.queries.events import PROFILES, Rules

__all__ = ["PROFILES", "QUERIES", "Measure", "Query", "Rules", "query_network"]
