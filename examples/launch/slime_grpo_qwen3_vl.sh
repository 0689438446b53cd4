#!/usr/bin/env bash
# slime 0.3: GRPO on Qwen3-VL with the reward of Gelato. One node with 8 GPUs of 80 GB.
#
#   slime as its documentation says, and grounding-rewards as its README says. Then, for pixel boxes:
#   ask='{instruction} Answer with the place to click as (x, y), whole numbers, and nothing else.'
#   grounding-rewards convert clicks.parquet --out train.parquet --for slime --target-space pixel --template "$ask"
#   grounding-rewards check slime --dataset train.parquet --config slime_grpo_qwen3_vl.sh
#   bash slime_grpo_qwen3_vl.sh [--key value ...]
#
# Only --custom-rm-path was seen in slime's source; its other flags are not checked.
set -euo pipefail

export GROUNDING_REWARDS_OPTIONS='{"recipe": "gelato", "format_weight": 0.1, "record": "out/record"}'

python train.py \
  --hf-checkpoint "${MODEL:-Qwen/Qwen3-VL-8B-Instruct}" \
  --train-backend fsdp \
  --actor-num-nodes 1 \
  --actor-num-gpus-per-node 8 \
  --colocate \
  --prompt-data "${TRAIN:-train.parquet}" \
  --input-key prompt \
  --label-key label \
  --multimodal-keys '{"image": "images"}' \
  --apply-chat-template \
  --custom-rm-path "$(grounding-rewards where slime)" \
  --rollout-batch-size 128 \
  --n-samples-per-prompt 8 \
  --rollout-max-response-len 64 \
  --global-batch-size 1024 \
  --num-rollout 200 \
  --advantage-estimator grpo \
  --eps-clip 0.2 \
  --eps-clip-high 0.28 \
  --lr 1e-6 \
  --save out/slime_grpo_qwen3_vl \
  "$@"
