"""Tables and texts that commands print."""
