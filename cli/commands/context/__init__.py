"""Commands on contexts."""
