"""Aurora on Spark: a stream data manager."""
