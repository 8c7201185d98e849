"""Property tests here run torch, whose first call of an op is slow: no deadlines.

torch's exporter writes thousands of debug records, which pytest would format for every test that fails.
"""

import logging

from hypothesis import settings

logging.getLogger("torch.__trace").setLevel(logging.WARNING)

settings.register_profile("evidence", deadline=None, max_examples=40)
settings.load_profile("evidence")
