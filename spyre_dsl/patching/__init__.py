"""From rules to module patches: plan without touching the model, apply as a transaction, revert."""
