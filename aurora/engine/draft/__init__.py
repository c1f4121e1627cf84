"""A first network for a file: what is in it, and what could be asked of it.

- sample: what kind of file it is, its schema and its first rows
- csv_style: the delimiter, the header, the encoding and the nulls of a CSV file
- json_fields: the fields of JSON lines
- text_types: the types of columns of text
- propose: the network
- look: the first rows of a stream of a network
"""
