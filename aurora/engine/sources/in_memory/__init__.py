"""Rows that a program has before the run.

- memory: them as a source; stored_memory: many of them, through a file
- given_rows: what people have rows in; inferred_schema: the schema that these bring with them
"""
