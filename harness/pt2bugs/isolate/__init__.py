"""Isolates what fixed or broke a check between two releases: the changed functions, from two wheels alone."""
