"""The benchmark as an Aurora network: cars, segments, accounts, and the two queries of history."""
