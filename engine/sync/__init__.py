"""Attribute Store sync: Flow Attributes as rows in the user's own PostgreSQL tables."""
