"""Where tuples come from. Each source reads straight into trains. Servers have packages of their own beside this one.

- source: what every source can do; cursors, portions, rejects, notices
- address: csv:PATH, json:PATH, parquet:PATH, tcp:HOST:PORT, and what they open; address_text: their parts
- text: what text has in it; files: sources that are files; live: what cannot be asked for again; in_memory: rows
- keyed_set: stored sets as tables; all_rows: a source that ends, read whole
- paced: any source by the clock; train_lengths: any source in trains of given lengths
- portion_schema: the fields of what was read; input_checks: rows that break a check of their input
"""
