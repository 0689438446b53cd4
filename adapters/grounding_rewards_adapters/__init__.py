"""Calls of trainers. Each file serves one trainer and imports it nowhere at module level."""
