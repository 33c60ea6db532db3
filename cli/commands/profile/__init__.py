"""`dex profile …`."""
