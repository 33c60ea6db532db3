"""Commands on settings."""
