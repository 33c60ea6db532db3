"""The formats that need more than a JSON encoder, each imported when it is asked for."""
