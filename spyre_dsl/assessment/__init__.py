"""One model on one target with one set of adapters: what was patched, what remains, and whether the numbers hold."""
