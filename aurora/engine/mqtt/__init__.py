"""Topics of MQTT as sources and sinks.

- address: mqtt:HOST:PORT/TOPIC and its options; secrets come from the environment
- client: the client library, loaded when it is needed: one connection, its faults in plain words
- spool: messages that the broker will not send again, kept until they are done with
- receiver: the thread that takes them from the broker, and acknowledges what is kept
- source: a topic as a source, read from the spool
- sink: a topic as a sink
"""
