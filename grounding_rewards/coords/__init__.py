"""Coordinate spaces and conversions, and the size of the image that a model saw."""
