"""Runs one query in Flink: a script for the interpreter of Flink's own environment, which has nothing of this package.

Its input is a JSON file with the statements; the last line that it prints has the seconds of the query.
"""

import json
import sys
import time
from pathlib import Path

__all__ = ["main"]


def main() -> None:
    """Carries out the file named on the command line."""
    from pyflink.common import Configuration  # type: ignore[import-not-found]
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]
    from pyflink.table.expressions import col  # type: ignore[import-not-found]

    work = json.loads(Path(sys.argv[1]).read_text())
    configuration = Configuration()
    for name, value in work["settings"].items():
        configuration.set_string(name, value)
    settings = (
        EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    )
    tables = TableEnvironment.create(settings)
    for statement in work["tables"]:
        tables.execute_sql(statement)
    # A sort inside SQL is dropped as without effect, so it is put in from here.
    if work["sorted"]:
        ordered = tables.sql_query(work["sorted"]["query"]).order_by(
            *(col(name) for name in work["sorted"]["by"])
        )
        tables.create_temporary_view(work["sorted"]["name"], ordered)
    start = time.perf_counter()
    tables.execute_sql(work["insert"]).wait()
    print(work["report"] + json.dumps({"job": time.perf_counter() - start}), flush=True)


if __name__ == "__main__":
    main()
