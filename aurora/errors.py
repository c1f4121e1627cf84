"""The one kind of fault that a user can mend: shown as a single line, without a stack trace."""


class AuroraError(Exception):
    """What is wrong, what was found, what to do."""
