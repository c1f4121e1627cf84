"""Inputs that arrive in the order of a field, as one stream that is merged by it."""
