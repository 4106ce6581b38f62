"""What is made of results: what is measured (`metrics`), with which interval (`stats`), and how it looks.

Figures of a run are in `plots`, those of many in `studies`, what both draw in `figures`.
"""
