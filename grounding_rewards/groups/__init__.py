"""Rows of one sample: voting, consensus, returns, advantages."""
