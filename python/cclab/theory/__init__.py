"""What theory says: throughput, window and latency (`formulas`); coupled laws (`coupling`); 802.11 (`wireless`)."""
