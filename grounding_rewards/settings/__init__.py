"""Settings: each declared once, in groups that commands share, and read from files."""
