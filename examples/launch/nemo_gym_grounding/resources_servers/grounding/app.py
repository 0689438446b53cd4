"""A resources server for NeMo-Gym whose ``verify`` is the recipe that configs/grounding.yaml names.

grounding-rewards convert clicks.parquet --out train.jsonl --for nemo_gym --target-space pixel
grounding-rewards check nemo_gym --dataset train.jsonl --config resources_servers/grounding/configs/grounding.yaml
gym env start --config resources_servers/grounding/configs/grounding.yaml --model-type vllm_model
gym eval run --no-serve --agent grounding_simple_agent --input train.jsonl --output rollouts.jsonl --num-repeats 8
"""

from grounding_rewards_adapters.nemo_gym import GroundingServer

if __name__ == "__main__":
    GroundingServer.run_webserver()
