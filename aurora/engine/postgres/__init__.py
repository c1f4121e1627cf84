"""Tables of PostgreSQL as sources, sinks and stored sets.

- address: postgres:HOST:PORT/DATABASE/TABLE and its options; user and password come from the environment or a file
- client: the client library, loaded when it is needed, and its faults in plain words
- table: what the database says about a table; kinds: which of its types hold which fields
- sink: a table as a sink; fit: whether rows fit it; batches: how far it has come, kept beside the rows; load, encode:
  rows into the table
- source: a table that is followed by a growing column; follow: how it is opened; bound: up to which value all rows are
  there; piece: the part of it that one task reads; fetch: rows into Arrow
- whole: a table that is read once, as a stored set is
- watch: whether the server answers, asked beside the run
"""
