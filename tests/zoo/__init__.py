"""Sweeps over model types: what the simulated stack accepts of each."""
