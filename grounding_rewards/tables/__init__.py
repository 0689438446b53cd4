"""Files of rows, read and written at the edge: JSON lines, JSON, CSV and Parquet, by their suffix."""
