"""`dex flow …`."""
