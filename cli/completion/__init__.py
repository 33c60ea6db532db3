"""Shell completion: scripts that ask `dex __complete`, which answers from a static tree and from live names."""
