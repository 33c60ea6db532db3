"""`dex subscriber …`."""
