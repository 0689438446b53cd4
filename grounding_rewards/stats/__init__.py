"""Statistics: intervals and the bootstrap."""
