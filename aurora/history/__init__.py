"""What a network keeps while it runs, and who attaches to it: points, the logs behind them, queries, the home."""
