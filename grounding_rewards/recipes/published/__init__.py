"""Published rewards: one paper a file."""
