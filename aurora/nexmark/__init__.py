"""The NEXMark benchmark: the firehose of an auction house, the queries, what is measured, and the rivals."""
