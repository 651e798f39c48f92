"""The command line; `calibstat.cli.main` runs it, and each command has a file of its own."""
