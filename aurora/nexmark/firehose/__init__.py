"""The firehose: events of an auction house, each a function of the seed and its number alone."""

from aurora.nexmark.firehose.fields import arrow_schema, schema_text
from aurora.nexmark.firehose.making import events
from aurora.nexmark.firehose.pace import Pace
from aurora.nexmark.firehose.settings import SCALES, Settings
from aurora.nexmark.firehose.source import Firehose

__all__ = ["SCALES", "Firehose", "Pace", "Settings", "arrow_schema", "events", "schema_text"]
