"""How a network runs, decided before it does; knows nothing of Spark.

- plan: boxes in stages, and the streams that enter each; buckets: where a tuple goes by the hash of its key
- projection, narrowing: fields that nobody looks at, in the inputs and before a state
- combined: a chain of boxes as one; rewriting: chains that may be rearranged while the network runs
- tables: rows that ride in the plan; fingerprint: what a box was given, as text; explain: the plan in words
"""
