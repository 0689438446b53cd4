"""Rows to scores: a batch (`score_rows`), a table (`table_scorer`), rollouts into a rollout table (`rescore`)."""
