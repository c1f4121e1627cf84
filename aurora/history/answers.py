"""What a running network answers to the requests that come through its control socket."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aurora.engine.sinks.encode import csv_header, to_csv, to_json
from aurora.history.peek import meet
from aurora.history.query import parse_query
from aurora.history.requests import check_request
from aurora.network.parameters import Written

if TYPE_CHECKING:
    from aurora.history.running import Running

__all__ = ["answers"]


def answers(running: "Running") -> dict[str, Callable[[dict[str, Any]], Any]]:
    """By the name of the command; each takes the request, which it checks, and gives plain data."""

    def paused(_: dict[str, Any]) -> Any:
        running.pause()
        return {"batch": running.statistics().batches}

    def resumed(request: dict[str, Any]) -> Any:
        if request["query"] is not None:
            running.resume_query(request["query"])
        else:
            running.resume()
        return {}

    def stepped(request: dict[str, Any]) -> Any:
        running.step(request["batches"])
        return {"batch": running.statistics().batches}

    def stopped(_: dict[str, Any]) -> Any:
        result = running.stop()
        return {"batch": result.totals.batch + 1, "rows": dict(result.totals.rows), "ended": result.ended}

    def attached(request: dict[str, Any]) -> Any:
        query = parse_query(
            request["text"],
            request["path"],
            running.schemas,
            request["path"] or "query",
            {name: Written(value) for name, value in (request["parameters"] or {}).items()},
        )
        name = running.attach(
            query, request["sinks"], request["name"], request["since"], request["allow_hosts"] or ()
        )
        return {"name": name}

    def detached(request: dict[str, Any]) -> Any:
        running.detach(request["name"])
        return {}

    def looked(request: dict[str, Any]) -> Any:
        rows, number = running.look(request["stream"], request["after"])
        if rows is None:
            return {"rows": "", "count": 0, "number": number, "header": ""}
        rows = meet(rows, request["where"])
        if request["most"] is not None:
            rows = rows.slice(0, request["most"])
        encode = to_json if request["format"] == "json" else to_csv
        header = "" if request["format"] == "json" else csv_header(rows.schema).decode()
        return {
            "rows": encode(rows).decode(), "count": rows.num_rows, "number": number, "header": header
        }  # fmt: skip

    commands: dict[str, Callable[[dict[str, Any]], Any]] = {
        "status": lambda _: running.status(),
        "pause": paused,
        "resume": resumed,
        "step": stepped,
        "stop": stopped,
        "attach": attached,
        "detach": detached,
        "look": looked,
    }
    return {name: _checked(name, answer) for name, answer in commands.items()}


def _checked(command: str, answer: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    def answer_checked(request: dict[str, Any]) -> Any:
        return answer(check_request(command, request))

    return answer_checked
