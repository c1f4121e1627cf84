"""A registry of schemas: each has a number, which stands before every record that was written with it."""

import base64
import json
import logging
import os
import re
import struct
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlsplit

from aurora.engine.address_options import is_loopback
from aurora.engine.avro.schema import Kind, parse_schema
from aurora.engine.outages import Unreachable, try_patiently
from aurora.errors import AuroraError

__all__ = ["FRAME", "Registry", "UnknownSchema", "frame", "known_schema"]

# A byte 0 and the number of the schema stand before a record.
FRAME = 5
TIMEOUT = 10.0
# An answer has so many bytes at most, and so many letters of it are shown.
LONGEST, SHOWN = 1 << 20, 200
# What a registry says of a number that it has not given to any schema; another 404 means a wrong address.
NO_SCHEMA = "40403"
TYPE = "application/vnd.schemaregistry.v1+json"
# Where the user and password are looked for, with the registry that they are for.
SECRET = "AURORA_REGISTRY_AUTH"
SHAPE = re.compile(r"(https?://[^/=\s]+)/?=(.+:.*)", re.DOTALL)
HOW = f"set {SECRET}=http://HOST:PORT=USER:PASSWORD, with the registry that they are for"
PORTS = {"http": 80, "https": 443}


class UnknownSchema(Exception):
    """The registry has no such schema, or one that is not read: this is about a record, not about the run."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the user and password along to whatever host it names."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True)
class Registry:
    address: str

    def schema(self, number: int) -> Kind:
        """Return a schema by its number; raise `UnknownSchema` if there is none that can be read."""
        told = self._ask(f"schemas/ids/{number}")
        if told is None:
            raise UnknownSchema(f"the registry has no schema {number}")
        try:
            if told.get("schemaType", "AVRO") != "AVRO":
                raise UnknownSchema(f"schema {number} of the registry is not one of Avro")
            return parse_schema(str(told["schema"]), f"schema {number} of the registry")
        except (AuroraError, KeyError) as fault:
            raise UnknownSchema(_plain(str(fault))) from None

    def register(self, subject: str, schema: dict[str, Any]) -> int:
        """Return the number of a schema, which it gets if it is new."""
        path = f"subjects/{subject}/versions"
        told = self._ask(path, {"schema": json.dumps(schema)})
        if told is None or not isinstance(told.get("id"), int):
            raise AuroraError(f"registry {self.address}: {path}: gives no number; check the address")
        return int(told["id"])

    def _ask(self, path: str, given: dict[str, Any] | None = None) -> dict[str, Any] | None:
        """Return the answer; None where the registry has no such thing. Waits a while for one that does not answer."""
        return try_patiently("schemas", f"registry {self.address}", lambda: self._ask_once(path, given))

    def _ask_once(self, path: str, given: dict[str, Any] | None) -> dict[str, Any] | None:
        headers = {"Accept": TYPE, "Content-Type": TYPE, **_authorization(self.address)}
        data = None if given is None else json.dumps(given).encode()
        request = urllib.request.Request(f"{self.address.rstrip('/')}/{path}", data, headers)
        opener = urllib.request.build_opener(_NoRedirects)
        where = f"registry {self.address}: {path}"
        try:
            with opener.open(request, timeout=TIMEOUT) as answer:
                text = answer.read(LONGEST + 1)
        except urllib.error.HTTPError as fault:
            with fault:
                told = _plain(fault.read(SHOWN).decode("utf-8", "replace"))
            if fault.code == 404 and NO_SCHEMA in told:
                return None
            if 300 <= fault.code < 400:
                place = _plain(str(fault.headers.get("Location")))[:SHOWN]
                raise AuroraError(
                    f"{where}: leads to {place}, which is not followed; give that address"
                ) from None
            if fault.code >= 500:
                raise Unreachable(f"{fault.code} {told}") from None
            hint = f"; {HOW}" if fault.code in (401, 403) else ""
            raise AuroraError(f"{where}: {fault.code} {told}{hint}") from None
        except (OSError, ValueError) as fault:
            raise Unreachable(_plain(str(getattr(fault, "reason", fault)))) from None
        if len(text) > LONGEST:
            raise AuroraError(f"{where}: the answer is longer than {LONGEST:,} bytes; check the address")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise AuroraError(f"{where}: the answer is not that of a registry; check the address")
        return found


def _authorization(address: str) -> dict[str, str]:
    """The user and password in the environment, if they are for this registry."""
    if not (told := os.environ.get(SECRET)):
        return {}
    found = SHAPE.fullmatch(told)
    if found is None:
        raise AuroraError(f"registry {address}: {SECRET} does not say which registry it is for; {HOW}")
    if _origin(found[1]) != _origin(address):
        return {}
    _warn_in_clear(address)
    return {"Authorization": f"Basic {base64.b64encode(found[2].encode()).decode()}"}


def _origin(address: str) -> tuple[str, str | None, int | None]:
    try:
        found = urlsplit(address)
        return found.scheme, found.hostname, found.port or PORTS.get(found.scheme)
    except ValueError:
        raise AuroraError(f"registry {address}: this is not an address; write http://HOST:PORT") from None


@cache
def _warn_in_clear(address: str) -> None:
    """Once in a process."""
    if address.startswith("http:") and not is_loopback(urlsplit(address).hostname or ""):
        logging.getLogger("aurora").warning(
            f"registry {address}: user and password are sent unencrypted; use https, if the registry has it"
        )


def _plain(text: str) -> str:
    """A text of somebody else as it may be shown: in one line, without signs that a terminal obeys."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


@lru_cache(maxsize=1000)
def known_schema(address: str, number: int) -> Kind:
    """Asked for once in a process: a schema does not change. One that is missing may come, and is asked for again."""
    return Registry(address).schema(number)


def frame(number: int) -> bytes:
    """
    >>> frame(7)
    b'\\x00\\x00\\x00\\x00\\x07'
    """
    return struct.pack(">bI", 0, number)
