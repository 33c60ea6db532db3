"""The one SQLite file: how it is opened, what its tables are, and how its errors read."""
