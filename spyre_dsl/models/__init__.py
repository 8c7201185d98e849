"""Where a model comes from: a name is located, its config read, its weights loaded, its inputs made."""
