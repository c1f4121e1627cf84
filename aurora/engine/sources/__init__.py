"""Where tuples come from: files, folders, sockets, pipes, memory. Each source reads straight into trains.

- source: what every source can do; cursors, portions, rejects, notices
- address: csv:PATH, json:PATH, parquet:PATH, tcp:HOST:PORT, and what they open; address_text: their parts; servers have
  packages of their own: aurora.engine.kafka, mqtt, postgres
- files: files of CSV or JSON lines; folder: which files, in which order; text: their bytes, by place;
  text_files: what their first lines tell; unpack: those that are packed; encodings: how characters are written
- csv_records: what a record of CSV is; records: where records end; headers: the first line; lines: pieces of lines
- merged: files that are ordered by a field, as one; stretches: what lies ahead in each; merged_piece: the part that a
  task reads
- checking: rows that break a check of their input; loose: values that cannot be read, as nulls
- parse: records into Arrow; careful: where some are bad; reasons: why; hints: what may be wrong all the same
- spool: lines that cannot be asked for again; receivers: threads that take them from a socket or a pipe
- left: how many lines wait, about
- parquet, parquet_piece: Parquet files, and the part that a task reads
- memory, stored: rows in memory, and many of them through a file; paced: any source by the clock
"""
