"""What can run a scenario: the packet-level simulator, or closed formulas (`model`)."""
