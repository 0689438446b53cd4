"""Checks of data and recipes before GPU hours are spent: accuracy, and the fit of coordinate spaces."""
