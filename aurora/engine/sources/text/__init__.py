"""What text has in it: where records of CSV and JSON end, their values, and why some cannot be read.

- text: bytes by their place; encodings: how characters are written; remaining_lines: how many lines wait, about
- csv_records: what a record of CSV is; record_ends: where records end; headers: the first line
- lines: the part of a text that a task reads
- parse: records into Arrow; bad_records: where some are bad; reasons: why; unreadable_cells: values that become null;
  digits: those of decimals; json_maps: maps in JSON
- hints: what may be wrong all the same; suggested_fixes: what to do where no line can be read
"""
