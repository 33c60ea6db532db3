"""Samples that ship with dex: scripts to run, and Flows that are known to every `dex`."""
