"""What is made of results: what is measured (`metrics`), with which interval (`stats`), and how it looks (`plots`)."""
