"""The remote engine: the same commands over HTTP."""
