"""Figures of a report, one a file: numbers in, a matplotlib figure out."""
