"""The traffic simulator of Linear Road: a microscopic model of expressways, and the reports of their cars."""

from aurora.linear_road.simulator.run import run_jobs, simulate, spread
from aurora.linear_road.simulator.settings import Settings

__all__ = ["Settings", "run_jobs", "simulate", "spread"]
