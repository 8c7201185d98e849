"""Property tests here run torch, whose first call of an op is slow: no deadlines."""

from hypothesis import settings

settings.register_profile("evidence", deadline=None, max_examples=40)
settings.load_profile("evidence")
