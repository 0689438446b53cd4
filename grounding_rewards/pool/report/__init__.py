"""Report on several rounds: numbers, figures and one HTML page."""
