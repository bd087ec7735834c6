"""A user's own program on torch releases: what the compiler makes of it, and which documented bugs concern it."""
