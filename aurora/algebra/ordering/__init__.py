"""Order: which tuples are in order, how far a group has come, and arithmetic on order values."""
