"""How fast compiled code is beside eager, by release."""
