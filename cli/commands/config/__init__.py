"""Commands on settings."""

EXAMPLES = """
dex config show

The configuration file is $XDG_CONFIG_HOME/dex/config.yaml, or what --config names. All of it may be left out:

    context: staging              # the context that counts when none is named
    data-dir: /srv/dex            # settings for all contexts
    output: yaml
    timeout: 1m
    color: never
    flows: [orders.py, shop.flows]
    sync-config: /etc/dex/sync.yaml
    journal-max-bytes: 268435456  # how much of the journal of past mutations is kept: 256 MiB
    journal-max-age: 7d           # and how long
    contexts:
      staging: {data-dir: /srv/staging, timeout: 10s}
      production: {endpoint: 'https://dex.example.com', token: s3cret}  # a server

A setting comes from its flag, else its environment variable, the context, the file, its default.
`dex context add` writes contexts into the file.
"""
