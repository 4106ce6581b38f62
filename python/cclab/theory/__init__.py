"""What theory says: throughput, window and latency in closed form (`formulas`); 802.11 (`wireless`)."""
