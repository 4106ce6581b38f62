"""What theory says: closed formulas of throughput, window and latency (`formulas`)."""
