"""A network on Spark: compiled, fused, fed, stored and restarted."""
