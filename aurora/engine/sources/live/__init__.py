"""What cannot be asked for again.

- receivers: threads that take lines from a socket or a pipe; spool: the files that keep them; arrivals: when they came
"""
