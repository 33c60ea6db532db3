"""Commands on Feeds."""
