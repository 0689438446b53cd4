#!/usr/bin/env bash
# ms-swift 4.6: GRPO on Qwen2.5-VL with a reward for clicks. One node with 8 GPUs of 80 GB.
#
#   pip install torch==2.13.0 ms-swift==4.6.0 msgspec vllm, and grounding-rewards as its README says. Then, for pixel boxes:
#   ask='{instruction} Answer with the place to click as (x, y), in pixels, and nothing else.'
#   grounding-rewards convert clicks.parquet --out train.jsonl --for swift --target-space pixel --template "$ask"
#   grounding-rewards check swift --dataset train.jsonl --config swift_grpo_qwen2_5_vl.sh
#   bash swift_grpo_qwen2_5_vl.sh [--key value ...]
#
# Qwen2.5-VL answers in pixels of the image that it saw: `model` and the bounds say its size, and MAX_PIXELS sets them.
set -euo pipefail

export GROUNDING_REWARDS_OPTIONS='{"recipe": "click", "model": "qwen2_5_vl", "max_pixels": 2097152, "record": "out/record"}'
export USE_HF=1 MAX_PIXELS=2097152 NPROC_PER_NODE=8

swift rlhf --rlhf_type grpo \
  --model "${MODEL:-Qwen/Qwen2.5-VL-7B-Instruct}" \
  --dataset "${TRAIN:-train.jsonl}" \
  --external_plugins "$(grounding-rewards where swift)" \
  --reward_funcs grounding_rewards \
  --num_generations 8 \
  --max_completion_length 64 \
  --tuner_type full \
  --freeze_vit true \
  --torch_dtype bfloat16 \
  --per_device_train_batch_size 8 \
  --gradient_accumulation_steps 4 \
  --learning_rate 1e-6 \
  --beta 0.001 \
  --use_vllm true \
  --vllm_mode colocate \
  --deepspeed zero3 \
  --output_dir out/swift_grpo_qwen2_5_vl \
  "$@"
