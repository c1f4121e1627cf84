"""The firehose: events of an auction house, each a function of the seed and its number alone."""
