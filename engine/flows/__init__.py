"""Flows: durable processes (spec: FL)."""
