"""Commands on StateStores."""
