"""One node: the embedded engine served over HTTP."""
