"""A registry of schemas: each has a number, which stands before every record that was written with it."""

import base64
import json
import os
import struct
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from aurora.engine.avro.schema import Kind, parse_schema
from aurora.errors import AuroraError

__all__ = ["FRAME", "Registry", "frame", "known_schema"]

# A byte 0 and the number of the schema stand before a record.
FRAME = 5
TIMEOUT = 10.0
TYPE = "application/vnd.schemaregistry.v1+json"
# Where the user and password are looked for: USER:PASSWORD.
SECRET = "AURORA_REGISTRY_AUTH"


@dataclass(frozen=True)
class Registry:
    address: str

    def schema(self, number: int) -> Kind:
        told = self._ask(f"schemas/ids/{number}")
        return parse_schema(str(told["schema"]), f"schema {number} of {self.address}")

    def register(self, subject: str, schema: dict[str, Any]) -> int:
        """The number of a schema, which it gets if it is new."""
        return int(self._ask(f"subjects/{subject}/versions", {"schema": json.dumps(schema)})["id"])

    def _ask(self, path: str, given: dict[str, Any] | None = None) -> dict[str, Any]:
        headers = {"Accept": TYPE, "Content-Type": TYPE}
        if secret := os.environ.get(SECRET):
            headers["Authorization"] = f"Basic {base64.b64encode(secret.encode()).decode()}"
        data = None if given is None else json.dumps(given).encode()
        request = urllib.request.Request(f"{self.address.rstrip('/')}/{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except urllib.error.HTTPError as fault:
            told = fault.read().decode("utf-8", "replace")[:200]
            hint = f"; set {SECRET}=USER:PASSWORD" if fault.code in (401, 403) else ""
            raise AuroraError(f"registry {self.address}: {path}: {fault.code} {told}{hint}") from None
        except (OSError, ValueError) as fault:
            why = getattr(fault, "reason", fault)
            raise AuroraError(f"registry {self.address} does not answer: {why}; check the address") from None


@lru_cache(maxsize=1000)
def known_schema(address: str, number: int) -> Kind:
    """Asked for once in a process: a schema does not change."""
    return Registry(address).schema(number)


def frame(number: int) -> bytes:
    """
    >>> frame(7)
    b'\\x00\\x00\\x00\\x00\\x07'
    """
    return struct.pack(">bI", 0, number)
