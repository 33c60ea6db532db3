"""`dex cluster …`."""
