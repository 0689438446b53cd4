"""verl: training rows by stages of a curriculum, or partly by weight, by its ``data.custom_cls``.

``data.custom_cls.path=pkg://grounding_rewards_adapters.verl_dataset`` with ``data.custom_cls.name=StageDataset`` or
``WeightedDataset`` and ``data.shuffle=False``; docs/methods/stages-in-verl.md has the launches. This file, unlike most
others, imports its trainer: it exists to subclass verl's data set. Validation rows are served as verl does.
"""

from __future__ import annotations

from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import ConfigKeyError
from verl.utils.dataset.rl_dataset import RLHFDataset

from grounding_rewards.arrays import Floats, Ints
from grounding_rewards.errors import PoolError
from grounding_rewards.pool.curriculum.command import stage_files
from grounding_rewards.pool.serving import check_weights, read_weights, stage_order, weighted_order
from grounding_rewards.tables.sample_ids import name_in, name_paths
from grounding_rewards_adapters._launch import LOG


class _OrderedDataset(RLHFDataset):  # type: ignore[misc]  # verl's types are not read
    """Rows of verl's own data set, those of training in an order that the seed and the rows alone fix.

    So a run that is resumed at a position goes on in the same order.
    """

    dataframe: Any

    def __init__(
        self, data_files: Any, tokenizer: Any, config: Any, processor: Any = None, max_samples: int = -1
    ) -> None:
        # verl makes training and validation rows by one class, and does not say which.
        validation = _listed(config.get("val_files"))
        self._training = _listed(data_files) != validation
        if validation and _listed(config.get("train_files")) == validation:
            raise PoolError("data.val_files: got data.train_files; expected others, which are not served in this order")
        if self._training:
            _check_settings(config)
            data_files = self._files(_listed(data_files), config, max_samples)
        super().__init__(data_files, tokenizer, config, processor, max_samples)

    def _read_files_and_tokenize(self) -> None:
        if not self._training:
            self._read(self.data_files)
            return
        batch = self.config.train_batch_size
        order = self._read_in_order(batch, _setting_of_run(self.config, "trainer.total_training_steps"))
        _check_length(self.config, len(order) // batch)
        LOG.info("data: %d rows in order, %d steps of %d", len(order), len(order) // batch, batch)
        self.dataframe = self.dataframe.select(order)

    def _read(self, files: list[str]) -> None:
        """Read ``dataframe`` as verl does, less the rows that it filters out."""
        self.data_files = files
        super()._read_files_and_tokenize()

    def _files(self, files: list[str], config: Any, max_samples: int) -> list[str]:
        """Return the files to read, and check the settings."""
        raise NotImplementedError

    def _read_in_order(self, batch: int, steps: int | None) -> Ints:
        """Read ``dataframe``, and return the numbers of its rows in order."""
        raise NotImplementedError


class StageDataset(_OrderedDataset):
    """Rows of the stages in a directory, ``data.train_files``: one stage after the other, each for its epochs.

    ``grounding-rewards pool curriculum --data`` writes the directory; ``data.seed`` seeds the order in each epoch.
    """

    def _files(self, files: list[str], config: Any, max_samples: int) -> list[str]:
        if len(files) != 1:
            raise PoolError(f"data.train_files: got {len(files)} paths; expected one directory of stages")
        named, gate, self._epochs = stage_files(files[0])
        if gate is not None:
            raise PoolError(
                f"{files[0]}: has a gate by success, and verl tells its data set of no results; write the stages again "
                "without gate, to move on after each stage's epochs, or train with TRL"
            )
        if max_samples > 0:
            raise PoolError(
                f"data.train_max_samples: got {max_samples}; expected -1, for stages have sizes of their own: set "
                "size in the file of stages"
            )
        self._names = list(named)
        return [str(file) for file in named.values()]

    def _read_in_order(self, batch: int, steps: int | None) -> Ints:
        from datasets import concatenate_datasets

        files, read = self.data_files, []
        for name, file in zip(self._names, files, strict=True):
            self._read([file])  # one by one: how many rows a stage has is known when they are filtered
            if self.prompt_key not in self.dataframe.column_names or not len(self.dataframe):
                raise PoolError(
                    f"stage {name!r}: got {len(self.dataframe)} rows of {', '.join(self.dataframe.column_names)}; "
                    f"expected one or more with {self.prompt_key}: give `pool curriculum` the training rows by --data, "
                    "and see what data.filter_overlong_prompts leaves out"
                )
            read.append(self.dataframe)
        self.data_files, self.dataframe = files, concatenate_datasets(read)
        return stage_order([len(stage) for stage in read], self._epochs, _seed(self.config))


class WeightedDataset(_OrderedDataset):
    """Rows of which a share of each batch is drawn by weight, and the others uniformly.

    ``data.weighted_share`` is the share; the weights are in the rows' column ``data.weight_column``, or in a table of
    ``sample_id`` and ``weight``, ``data.weights``, of whose methods or stages ``data.weights_of`` counts. The order
    lasts ``trainer.total_training_steps``, or as many steps as the rows fill batches; ``data.seed`` seeds it.
    """

    def _files(self, files: list[str], config: Any, max_samples: int) -> list[str]:
        if config.get("weighted_share") is None:
            raise PoolError(
                "data.weighted_share is missing; add +data.weighted_share=NUMBER, the share of each batch that is "
                "drawn by weight, 0 to 1"
            )
        places = [name for name in ("weight_column", "weights") if config.get(name) is not None]
        if len(places) != 1:
            raise PoolError(
                f"data: got {' and '.join(places) or 'no weights'}; expected one of +data.weight_column=COLUMN of the "
                "training rows and +data.weights=FILE, a table of sample_id and weight"
            )
        return files

    def _read_in_order(self, batch: int, steps: int | None) -> Ints:
        self._read(self.data_files)
        rows = len(self.dataframe)
        return weighted_order(
            self._weights(),
            length=rows // batch * batch if steps is None else steps * batch,
            batch_size=batch,
            weighted_share=self.config.weighted_share,
            seed=_seed(self.config),
        )

    def _weights(self) -> Floats:
        column, there = self.config.get("weight_column"), self.dataframe.column_names
        if column is None:
            return self._joined()
        if column not in there:
            raise PoolError(f"data.weight_column: got {column!r:.80}; the training rows have {', '.join(there)}")
        return check_weights(self.dataframe.select_columns([column]).with_format("arrow")[:][column].to_numpy())

    def _joined(self) -> Floats:
        path, of = self.config.weights, self.config.get("weights_of")
        weights = read_weights(path, None if of is None else str(of))
        paths = name_paths(self.dataframe.column_names)
        columns = sorted({names[0] for names in paths} & set(self.dataframe.column_names))
        named = self.dataframe.select_columns(columns) if columns else []  # images need not be decoded
        names = [name_in(row, paths) for row in named]
        missing = [name for name in names if name not in weights]
        if len(missing) == len(names):
            raise PoolError(
                f"{path}: none of its samples is among the training rows: its names are such as "
                f"{', '.join(map(repr, list(weights)[:3]))}, theirs such as {', '.join(map(repr, names[:3])) or 'none'}"
            )
        if missing:
            LOG.warning(
                "data.weights: %d of %d training rows, such as %r, are not in %s: they are never drawn by weight",
                len(missing), len(names), missing[0], path,
            )  # fmt: skip
        return check_weights([weights.get(name, 0.0) if name is not None else 0.0 for name in names])


def _listed(files: Any) -> list[str]:
    return [files] if isinstance(files, str) else list(files or ())


def _seed(config: Any) -> int:
    seed = config.get("seed")
    return 0 if seed is None else seed


def _setting_of_run(config: Any, key: str) -> Any:
    """Return a setting beside ``data`` in the config of the run; None where ``config`` stands alone."""
    try:
        return OmegaConf.select(config, f"..{key}")
    except ConfigKeyError:
        return None


def _check_settings(config: Any) -> None:
    if config.get("shuffle", True):
        raise PoolError("data.shuffle: got True; expected data.shuffle=False, for the rows are in order already")
    if _setting_of_run(config, "algorithm.filter_groups.enable"):
        raise PoolError(
            "algorithm.filter_groups.enable: got True; expected False, for batches would be filled up with later rows, "
            "and end before the run does"
        )


def _check_length(config: Any, steps: int) -> None:
    """Check that the run ends with the order, for verl begins again with its first row."""
    if not steps:
        raise PoolError(f"data.train_batch_size: got {config.train_batch_size}, more than the rows in order; lower it")
    asked = _setting_of_run(config, "trainer.total_training_steps")
    if asked is None:
        asked = (_setting_of_run(config, "trainer.total_epochs") or 1) * steps
    if asked > steps:
        raise PoolError(
            f"trainer: got a run of {asked} steps, while the rows in order last {steps}, and would begin again; set "
            f"trainer.total_epochs=1, or trainer.total_training_steps (with stages to at most {steps})"
        )
