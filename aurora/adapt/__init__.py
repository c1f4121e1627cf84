"""Figures of a network, and what follows from them: pure functions, without Spark, files or a clock of their own."""
