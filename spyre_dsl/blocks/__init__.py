"""The few building blocks that ``use`` can name, and the op that ``place: host`` writes into a graph."""
