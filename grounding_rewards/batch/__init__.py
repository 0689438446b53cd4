"""Rows to scores: a batch's (`scored`), a table's (`row_scoring`), rollouts' into a rollout table (`rescore`)."""
