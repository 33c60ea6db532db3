"""Running handlers: what they see is loaded in one snapshot, what they did is committed as one record."""
