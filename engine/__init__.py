"""The engines: what a typed command does, on an embedded SQLite file or elsewhere."""
