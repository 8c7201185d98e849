"""Where a patched model runs: simulated, on the CPU, or on the accelerator itself; and how its numbers compare."""
