"""The few building blocks that ``use`` can name, and the op that ``place: host`` writes into a graph."""

import spyre_dsl.blocks.columns  # noqa: F401  (registers the blocks that ship with the product)
