"""Checks of responses and scores against annotations."""
