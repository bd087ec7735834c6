"""Pictures and pages made from the matrix."""
