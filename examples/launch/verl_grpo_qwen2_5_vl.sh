#!/usr/bin/env bash
# verl 0.9: GRPO on Qwen2.5-VL with the reward of Gelato. One node with 8 GPUs of 80 GB.
#
#   pip install 'verl[verl-core,vllm]==0.9.1', without TRL, and grounding-rewards as its README says. This launch has
#   not run on a GPU; docs/rounds.md has what has, and what small machines and those without flash-attn add. Then, for
#   pixel boxes:
#   mkdir -p data
#   ask='{instruction} Answer with the place to click as (x, y), whole numbers, and nothing else.'
#   grounding-rewards convert clicks.parquet --out data/train.parquet --for verl --target-space pixel --template "$ask"
#   grounding-rewards convert clicks_val.parquet --out data/val.parquet --for verl --target-space pixel --template "$ask"
#   bash verl_grpo_qwen2_5_vl.sh [key=value ...]       what is given here goes before what stands below
#
# Qwen2.5-VL answers in pixels of the image that it saw, so the reward must know that image's size: it makes it from
# extra_info.image_size (or the target's own image_size, which `convert` writes) and from the bounds below. They stand
# twice, for the processor and for the reward, under one name.
set -euo pipefail

MODEL=${MODEL:-Qwen/Qwen2.5-VL-7B-Instruct}
TRAIN=${TRAIN:-data/train.parquet}
VAL=${VAL:-data/val.parquet}
RECORD=${RECORD:-$PWD/out/verl_grpo_qwen2_5_vl}  # a rollout table, to choose the next round's pool from

MIN_PIXELS=3136      # 4 tokens of 28 x 28 pixels
MAX_PIXELS=2007040   # 2560 tokens

reward=(
  reward.custom_reward_function.path=pkg://grounding_rewards_adapters.verl
  reward.custom_reward_function.name=compute_score_async
  +reward.custom_reward_function.reward_kwargs.recipe=gelato
  +reward.custom_reward_function.reward_kwargs.model=qwen2_5_vl
  # verl resizes twice. The first bounds are those in each image's own dict, min_pixels and max_pixels; there are none
  # in what `convert` writes, and then none belong here. The second ones are the processor's.
  +reward.custom_reward_function.reward_kwargs.processor_min_pixels=$MIN_PIXELS
  +reward.custom_reward_function.reward_kwargs.processor_max_pixels=$MAX_PIXELS
  "+reward.custom_reward_function.reward_kwargs.record='$RECORD'"  # quoted for hydra too: a path may hold = ( , or a space
  reward.num_workers=4  # fewer than the node has CPU cores: more are never scheduled
)

data=(
  data.train_files="$TRAIN"
  data.val_files="$VAL"
  data.image_key=images
  data.image_patch_size=14
  +data.mm_processor_kwargs.min_pixels=$MIN_PIXELS
  +data.mm_processor_kwargs.max_pixels=$MAX_PIXELS
  data.max_prompt_length=3072  # the image's tokens and the words
  data.max_response_length=64
  data.filter_overlong_prompts=True
  data.filter_overlong_prompts_workers=8
  data.truncation=error
  data.train_batch_size=256
)

algorithm=(
  algorithm.adv_estimator=grpo
  algorithm.use_kl_in_reward=False
  actor_rollout_ref.actor.use_kl_loss=True
  actor_rollout_ref.actor.kl_loss_coef=0.001
  actor_rollout_ref.actor.kl_loss_type=low_var_kl
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
  actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=8
  actor_rollout_ref.ref.fsdp_config.param_offload=True
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
  trainer.experiment_name=grpo_qwen2_5_vl_gelato
  'trainer.logger=[console]'
)

exec "${PYTHON:-python3}" -m verl.trainer.main_ppo \
  "${reward[@]}" "${data[@]}" "${algorithm[@]}" "${policy[@]}" "${rollout[@]}" "${trainer[@]}" "$@"
