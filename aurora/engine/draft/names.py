"""Names of fields, and what they are likely to hold: a key, an attribute, money, a time."""

import re

__all__ = ["is_money", "is_timely", "looks_like_attribute", "looks_like_key"]

TIMELY = re.compile(r"time|date|when|stamp|epoch|_ts$|^ts$|_at$|^at$|day", re.IGNORECASE)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
ENDS_AS_KEY = re.compile(r"(^|[\W_])id$|Id$|ID$")
# The last word of a name is what the field is: a unit price is a price, a sensor name is a name.
KEYS = frozenset((
    "account", "airport", "article", "asset", "branch", "bus", "car", "channel", "city", "client", "code",
    "country", "customer", "department", "device", "door", "driver", "employee", "gate", "host", "instrument",
    "item", "key", "line", "machine", "member", "merchant", "meter", "name", "no", "nr", "path", "plant", "plate",
    "player", "product", "region", "room", "route", "seller", "sensor", "server", "service", "session", "shop",
    "site", "sku", "station", "store", "supplier", "symbol", "team", "terminal", "ticker", "topic", "truck", "url",
    "user", "username", "vehicle", "vendor", "vessel", "ward", "warehouse", "zone",
))  # fmt: skip
ATTRIBUTES = frozenset((
    "amount", "balance", "category", "charge", "class", "comment", "cost", "count", "currency", "degree", "depth",
    "description", "discount", "distance", "duration", "fare", "fee", "flag", "height", "kind", "lat", "latitude",
    "length", "level", "lon", "longitude", "measure", "message", "method", "mode", "note", "number", "percent",
    "price", "quality", "quantity", "qty", "rate", "rating", "ratio", "remark", "result", "salary", "score", "side",
    "size", "speed", "state", "status", "sum", "tax", "temperature", "temp", "text", "total", "toll", "type",
    "unit", "uom", "value", "volume", "wage", "weight", "width",
))  # fmt: skip
MONEY = frozenset((
    "amount", "balance", "charge", "cost", "discount", "eur", "fare", "fee", "gbp", "income", "money", "pay",
    "payment", "price", "profit", "revenue", "salary", "tax", "toll", "turnover", "usd", "wage",
))  # fmt: skip


def is_timely(name: str) -> bool:
    """Whether a field of that name may tell a time."""
    return TIMELY.search(name) is not None


def looks_like_key(name: str) -> bool:
    """Whether a field of that name names things.

    >>> [looks_like_key(name) for name in ("sensor", "deviceId", "Customer Name", "VID", "unit", "unit_price")]
    [True, True, True, True, False, False]
    """
    return ENDS_AS_KEY.search(name) is not None or not KEYS.isdisjoint(_last_word(name))


def looks_like_attribute(name: str) -> bool:
    """Whether a field of that name tells something about what another one names.

    >>> [looks_like_attribute(name) for name in ("unit", "currency", "UnitPrice", "sensor")]
    [True, True, True, False]
    """
    return not ATTRIBUTES.isdisjoint(_last_word(name))


def is_money(name: str) -> bool:
    """Whether a field of that name holds money.

    >>> [is_money(name) for name in ("price", "total_amount", "amount_eur", "heat")]
    [True, True, True, False]
    """
    return not MONEY.isdisjoint(_last_word(name))


def _last_word(name: str) -> set[str]:
    """Return the last word, as it is written and in the singular."""
    words = WORD.findall(name)
    last = words[-1].lower() if words else ""
    return {last, last.removesuffix("s")}
