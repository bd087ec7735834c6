"""Backends of torch.compile: the known ones, the failures that are a backend's own, and its baseline."""
