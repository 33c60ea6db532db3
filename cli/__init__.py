"""The command line and the shell: how people reach an engine."""
