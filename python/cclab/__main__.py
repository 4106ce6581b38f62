"""`python -m cclab` is the command line."""

from cclab.cli import main

main()
