"""Graphs: capture of a model, and the canonical form that patterns are matched on."""
