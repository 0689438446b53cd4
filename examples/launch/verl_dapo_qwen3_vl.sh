#!/usr/bin/env bash
# verl 0.9: DAPO on Qwen3-VL with the reward of Gelato: no KL term, a higher upper clip, and groups that teach nothing
# are replaced. One node with 8 GPUs of 80 GB.
#
#   pip install 'verl[verl-core,vllm]==0.9.1', without TRL, and grounding-rewards as its README says. This launch has
#   not run on a GPU; docs/rounds.md has what has, and what small machines and those without flash-attn add. Then, for
#   pixel boxes:
#   mkdir -p data
#   ask='{instruction} Answer with the place to click as (x, y), whole numbers, and nothing else.'
#   grounding-rewards convert clicks.parquet --out data/train.parquet --for verl --target-space pixel --template "$ask"
#   grounding-rewards convert clicks_val.parquet --out data/val.parquet --for verl --target-space pixel --template "$ask"
#   bash verl_dapo_qwen3_vl.sh [key=value ...]       what is given here goes before what stands below
#
# Groups are filtered by `acc`, which is 0 or 1, and never by the reward: it differs within a group of hits, and with a
# weight on format within a group of misses too, so that nothing would be filtered, and groups without one hit would
# be trained on.
set -euo pipefail

MODEL=${MODEL:-Qwen/Qwen3-VL-8B-Instruct}
TRAIN=${TRAIN:-data/train.parquet}
VAL=${VAL:-data/val.parquet}
RECORD=${RECORD:-$PWD/out/verl_dapo_qwen3_vl}  # a rollout table, with all groups, also those that are replaced

MIN_PIXELS=65536     # 64 tokens of 32 x 32 pixels
MAX_PIXELS=2097152   # 2048 tokens

reward=(
  reward.custom_reward_function.path=pkg://grounding_rewards_adapters.verl
  reward.custom_reward_function.name=compute_score_async
  +reward.custom_reward_function.reward_kwargs.recipe=gelato
  +reward.custom_reward_function.reward_kwargs.model=qwen3_vl
  +reward.custom_reward_function.reward_kwargs.processor_min_pixels=$MIN_PIXELS
  +reward.custom_reward_function.reward_kwargs.processor_max_pixels=$MAX_PIXELS
  "+reward.custom_reward_function.reward_kwargs.record='$RECORD'"  # quoted for hydra too: a path may hold = ( , or a space
  reward.reward_manager.name=dapo
  reward.num_workers=4  # fewer than the node has CPU cores: more are never scheduled
)

data=(
  data.train_files="$TRAIN"
  data.val_files="$VAL"
  data.image_key=images
  data.image_patch_size=16
  +data.mm_processor_kwargs.min_pixels=$MIN_PIXELS
  +data.mm_processor_kwargs.max_pixels=$MAX_PIXELS
  data.max_prompt_length=2560  # the image's tokens and the words
  data.max_response_length=64
  data.filter_overlong_prompts=True
  data.filter_overlong_prompts_workers=8
  data.truncation=error
  data.train_batch_size=256
)

algorithm=(
  algorithm.adv_estimator=grpo
  algorithm.filter_groups.enable=True
  algorithm.filter_groups.metric=acc
  algorithm.filter_groups.max_inflight_gen_batches=2  # max_num_gen_batches is not read by the default trainer of 0.9
  algorithm.use_kl_in_reward=False
  actor_rollout_ref.actor.use_kl_loss=False
  actor_rollout_ref.actor.clip_ratio_low=0.2
  actor_rollout_ref.actor.clip_ratio_high=0.28
  actor_rollout_ref.actor.loss_agg_mode=token-mean
  actor_rollout_ref.actor.entropy_coeff=0
  critic.enable=False
)

policy=(
  actor_rollout_ref.model.path="$MODEL"
  actor_rollout_ref.model.use_remove_padding=True
  actor_rollout_ref.model.enable_gradient_checkpointing=True
  actor_rollout_ref.actor.optim.lr=1e-6
  actor_rollout_ref.actor.freeze_vision_tower=True
  actor_rollout_ref.actor.ppo_mini_batch_size=64
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4
  actor_rollout_ref.actor.fsdp_config.param_offload=False
  actor_rollout_ref.actor.fsdp_config.optimizer_offload=False
)

rollout=(
  actor_rollout_ref.rollout.name=vllm
  actor_rollout_ref.rollout.n=8
  actor_rollout_ref.rollout.temperature=1.0
  actor_rollout_ref.rollout.tensor_model_parallel_size=1
  actor_rollout_ref.rollout.gpu_memory_utilization=0.6
  actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8
)

trainer=(
  trainer.nnodes=1
  trainer.n_gpus_per_node=8
  trainer.total_epochs=2
  trainer.test_freq=10
  trainer.save_freq=50
  trainer.project_name=grounding
  trainer.experiment_name=dapo_qwen3_vl_gelato
  'trainer.logger=[console]'
)

exec "${PYTHON:-python3}" -m verl.trainer.main_ppo \
  "${reward[@]}" "${data[@]}" "${algorithm[@]}" "${policy[@]}" "${rollout[@]}" "${trainer[@]}" "$@"
