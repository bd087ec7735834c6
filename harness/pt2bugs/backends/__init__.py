"""Backends of torch.compile as an axis: the known ones, what of a backend's failures is its own, and a baseline."""
