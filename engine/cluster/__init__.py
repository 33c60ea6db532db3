"""The cluster: the journal in replicated streams, each applied by every node to files of its own."""
