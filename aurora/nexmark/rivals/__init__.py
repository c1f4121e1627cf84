"""The systems that `nexmark compare` runs beside each other, each in processes of its own, over the same files."""
