"""Where tuples come from: files, folders, sockets, memory. Each source reads straight into trains."""
