"""Hypothesis without deadlines: the first call of a kernel loads things, and other work runs beside the tests."""

import os

from hypothesis import Phase, settings

settings.register_profile("quick", deadline=None, max_examples=15)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.register_profile("search", deadline=None, max_examples=150, phases=[Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
