"""What holds for the whole suite: no test fails because the machine is slow."""

from hypothesis import settings

settings.register_profile("dex", deadline=None)
settings.load_profile("dex")
