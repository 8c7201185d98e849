"""What the device's kernels compute, with rounding where the device rounds."""
