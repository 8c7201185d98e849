"""Plans that several files share: making one takes a second or two."""

from __future__ import annotations

import pytest
import torch

from spyre_dsl.patching.plan import plan
from tests.patching.rules import FOLDED, HEAD_PADDING, STACK, X, adapters, bert, layers, rules, text_inputs


@pytest.fixture(scope="session")
def head_padding():
    """The chain of head padding, planned for the tiny BERT with a padded batch."""
    return plan(bert(), adapters(HEAD_PADDING), (), text_inputs(), stack=STACK)


@pytest.fixture(scope="session")
def folded_layers():
    """``FOLDED``, planned for the small layers."""
    return plan(layers(), rules(FOLDED), (X,), stack=STACK)


@pytest.fixture
def fresh_compiler():
    """torch.compile without what other tests compiled: it gives up on a function that was compiled too often."""
    torch.compiler.reset()
