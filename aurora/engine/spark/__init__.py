"""What Spark calls: the session, the source, the stages with their state, the workers' start."""
