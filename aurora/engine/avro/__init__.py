"""Avro: schemas, records into columns and back, and the registry where schemas are kept."""
