"""Topics of Kafka as sources and sinks.

- address: kafka:HOST:PORT/TOPIC and its options; secrets come from the environment
- client: the client library, loaded when it is needed, and its faults in plain words
- topic: which partitions a topic has, and how far they go
- source: a topic as a source; piece: the part of it that one task reads; values: records into Arrow
- watch: whether the broker answers, asked beside the run
- sink: a topic as a sink, in transactions; encode: rows into records; trace: what the transactions have left
"""
