"""The life of a window: where windows lie, what they hold, when they close."""
