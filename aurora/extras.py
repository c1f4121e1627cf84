"""What comes only if it is asked for: packages that parts of Aurora need, and how to install them."""

from aurora.errors import AuroraError

__all__ = ["explain_missing"]

# The modules of packages that are no part of the core, with the extra that has them.
EXTRAS = {
    "confluent_kafka": "kafka",
    "duckdb": "benchmarks",
    "matplotlib": "plot",
    "numba": "benchmarks",
    "paho": "mqtt",
    "psycopg": "postgres",
}


def explain_missing(fault: ImportError, extra: str | None = None) -> AuroraError | None:
    """What to install, if the fault is that a package of an extra is not there.

    >>> str(explain_missing(ImportError("no module", name="matplotlib.pyplot")))
    "this needs the package matplotlib; pip install 'aurora-spark[plot]'"
    """
    module = (fault.name or "").partition(".")[0]
    if module not in EXTRAS:
        return None
    return AuroraError(
        f"this needs the package {module}; pip install 'aurora-spark[{extra or EXTRAS[module]}]'"
    )
