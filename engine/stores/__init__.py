"""StateStores: definitions, rows, reads, and the materialising of Feeds into them."""
