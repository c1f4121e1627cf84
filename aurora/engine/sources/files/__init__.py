"""Sources that are files.

- file_list: which files, in which order
- line_files: files of CSV or JSON lines; text_files: what their first lines tell; unpack: those that are packed
- merged: files that are ordered by a field, as one; merged_lookahead: what lies ahead in each; merged_piece: the part
  that a task reads
- parquet, parquet_piece: Parquet files, and the part that a task reads; sqlite: a table of SQLite
"""
