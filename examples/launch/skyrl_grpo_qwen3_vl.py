"""SkyRL 0.3: GRPO with the reward of Gelato, whose options come from the variable GROUNDING_REWARDS_OPTIONS.

export GROUNDING_REWARDS_OPTIONS='{"recipe": "gelato", "format_weight": 0.1}'
grounding-rewards convert clicks.parquet --out train.parquet --for skyrl --target-space pixel
grounding-rewards check skyrl --dataset train.parquet
python skyrl_grpo_qwen3_vl.py data.train_data="['train.parquet']" trainer.policy.model.path=Qwen/Qwen3-VL-8B-Instruct \
  generator.vision_language_generator=true generator.n_samples_per_prompt=8 trainer.train_batch_size=128
"""

import os
import sys

import ray
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.entrypoints.main_base import BasePPOExp
from skyrl.train.utils import validate_cfg
from skyrl.train.utils.utils import initialize_ray

OPTIONS = "GROUNDING_REWARDS_OPTIONS"


@ray.remote(num_cpus=1, runtime_env={"env_vars": {OPTIONS: os.environ.get(OPTIONS, "")}})
def train(config: SkyRLTrainConfig) -> None:
    """Train in a task, in which the environment is registered."""
    from grounding_rewards_adapters import skyrl

    skyrl.register()
    BasePPOExp(config).run()


if __name__ == "__main__":
    config = SkyRLTrainConfig.from_cli_overrides(sys.argv[1:])
    validate_cfg(config)
    initialize_ray(config)
    ray.get(train.remote(config))
