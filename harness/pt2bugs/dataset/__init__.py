"""The corpus and its measurements as a data set: files that others load without pt2bugs."""
