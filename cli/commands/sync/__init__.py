"""`dex sync …`."""
