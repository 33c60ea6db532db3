"""The Flows that ship with dex."""
