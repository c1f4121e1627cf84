"""What flows: tuples with a schema, in trains."""
