"""Run by Spark in place of Python: lets a warm process fork what Spark asks for, or starts Python itself.

It loads nothing but the standard library, and little of that: its own start is what a query waits for.
"""

import os
import socket
import sys

__all__ = ["MODULES", "PLACE", "main"]

# What Spark starts anew for every query: one that asks the source, and one that asks for the form of the state. And
# the processes that fork its workers, of which there is one for each kind.
MODULES = (
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.streaming.transform_with_state_driver_worker",
    "aurora.engine.spark.daemon",
    "pyspark.daemon",
)
# The variable that holds the address of the warm process.
PLACE = "AURORA_WARM_PYTHON"
# Runs a module as `python -m` does, but with the current folder behind what is installed, not before it.
RUN = (
    "import os, runpy, sys; sys.path.append(os.getcwd()); del sys.argv[0]; "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
# So many seconds the warm process may take for its answer; it may still be loading.
PATIENCE = 20.0


def main() -> None:
    python, *arguments = sys.argv[1:]
    place = os.environ.get(PLACE)
    if place and arguments[:1] == ["-m"] and arguments[1] in MODULES:
        ask(place, arguments[1:])
    if arguments[:1] == ["-m"]:
        arguments = ["-P", "-c", RUN, *arguments[1:]]
    os.execv(python, [python, *arguments])


def ask(place: str, arguments: list[str]) -> None:
    """Stays as long as the forked process does, which ends with this one; returns if there is nobody to fork it."""
    variables = [name + b"=" + value for name, value in os.environb.items()]
    given = [os.getcwd(), str(len(arguments)), *arguments]
    request = b"\0".join([*map(os.fsencode, given), *variables])
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(place)
            socket.send_fds(connection, [len(request).to_bytes(4, "big")], [0, 1, 2])
            connection.sendall(request)
            if not connection.recv(1):
                return
            connection.settimeout(None)
            ended = connection.recv(1)
    except OSError:
        return
    # Nothing comes if it was killed.
    sys.exit(ended[0] if ended else 1)


if __name__ == "__main__":
    main()
