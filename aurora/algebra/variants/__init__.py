"""Other forms of boxes: joins as of, with keep and with tables, resamples with bounds, running windows, sessions."""
