#!/usr/bin/env bash
# OpenRLHF 0.11: GRPO on Qwen3-VL with the reward of Gelato. One node with 8 GPUs of 80 GB.
#
#   pip install openrlhf[vllm]==0.11.2, and grounding-rewards as its README says. Then, for pixel boxes:
#   ask='{instruction} Answer with the place to click as (x, y), whole numbers, and nothing else.'
#   grounding-rewards convert clicks.parquet --out train.jsonl --for openrlhf --target-space pixel --template "$ask"
#   grounding-rewards check openrlhf --dataset train.jsonl --config openrlhf_grpo_qwen3_vl.sh
#   bash openrlhf_grpo_qwen3_vl.sh [--key value ...]
set -euo pipefail

export GROUNDING_REWARDS_OPTIONS='{"recipe": "gelato", "format_weight": 0.1, "record": "out/record"}'

python3 -m openrlhf.cli.train_ppo_ray \
  --actor.model_name_or_path "${MODEL:-Qwen/Qwen3-VL-8B-Instruct}" \
  --actor.freeze_visual_encoder \
  --actor.num_nodes 1 \
  --actor.num_gpus_per_node 8 \
  --vllm.num_engines 4 \
  --vllm.tensor_parallel_size 2 \
  --train.colocate_all \
  --reward.remote_url "$(grounding-rewards where openrlhf)" \
  --data.prompt_dataset "${TRAIN:-train.jsonl}" \
  --data.input_key input \
  --data.label_key label \
  --data.image_key images \
  --data.apply_chat_template \
  --data.max_len 4096 \
  --rollout.batch_size 128 \
  --rollout.n_samples_per_prompt 8 \
  --rollout.max_new_tokens 64 \
  --train.batch_size 1024 \
  --train.micro_batch_size 4 \
  --algo.advantage.estimator group_norm \
  --algo.dynamic_filtering_enable \
  --ckpt.output_dir out/openrlhf_grpo_qwen3_vl \
  "$@"
