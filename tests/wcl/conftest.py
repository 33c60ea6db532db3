"""Settings of the property tests: bounded, and without a deadline, as other work may share the machine."""

from hypothesis import settings

settings.register_profile("wcl", max_examples=150, deadline=None)
settings.load_profile("wcl")
