"""Where results go: files, folders of parts, the console, a function."""
