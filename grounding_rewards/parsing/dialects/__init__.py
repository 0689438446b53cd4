"""Dialects: one family of answer formats a file."""
