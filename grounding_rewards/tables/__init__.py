"""Files of rows, read and written at the edge: JSON lines, JSON, CSV and Parquet, by their suffix.

Reading streams in batches. Writing passes every column of the input through, appends new ones, and is atomic: a file
beside the target is renamed at the end, and removed on any failure.

>>> import pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     rows, scored = pathlib.Path(folder, "rows.jsonl"), pathlib.Path(folder, "scored.jsonl")
...     _ = rows.write_text('{"response": "(1, 2)"}')
...     table = open_table(rows)
...     with write_table(scored, like=table, new={"total": float}) as writer:
...         for batch in table.batches():
...             writer.write(batch, {"total": [1.0]})
...     print(scored.read_text(), end="")
{"response": "(1, 2)", "total": 1.0}
"""

from grounding_rewards.tables.opening import open_table
from grounding_rewards.tables.rows import BATCH_ROWS, Batch, Table, Writer
from grounding_rewards.tables.writing import write_table

__all__ = ["BATCH_ROWS", "Batch", "Table", "Writer", "open_table", "write_table"]
