"""A page on the pools of several rounds: numbers from statistics of samples, figures of these numbers, and the page."""
