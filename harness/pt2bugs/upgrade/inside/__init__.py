"""The part that runs in a child of the engine: standard library and torch alone."""
