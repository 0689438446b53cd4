"""One trajectory of AndroidControl's kind, from a model's responses to scores: python examples/android_step.py

AndroidControl asks for the next action on a phone: a click counts within 14 % of the screen of the one demonstrated,
an app is opened by name, a scroll has a direction, and typed text is compared as text. Here are two attempts at an
alarm in four steps. Each step is scored by itself, and then together with those that follow it.
"""

from __future__ import annotations

from grounding_rewards import Reason, Scores, recipe
from grounding_rewards.groups.returns import step_and_episode_advantages, step_returns

SCREEN = (1080, 2400)

TARGETS = [
    {"action": {"name": "open_app", "app": "Clock"}},
    {"point": [890, 2150], "action": "click"},
    {"action": {"name": "scroll", "direction": "down"}},
    {"action": {"name": "type", "text": "7:30"}},
]
TARGETS = [
    {**target, "trajectory": "alarm", "step": step, "num_steps": 4, "image_size": SCREEN}
    for step, target in enumerate(TARGETS)
]

ATTEMPTS = {
    "careful": [
        '<think>The alarm is in the clock.</think>\n{"action_type": "open_app", "app_name": "Clock"}',
        '<think>The button with the plus.</think>\n{"action_type": "click", "x": 905, "y": 2120}',
        '<think>It is further down.</think>\n{"action_type": "scroll", "direction": "down"}',
        '<think>Half past seven.</think>\n{"action_type": "input_text", "text": "7:30"}',
    ],
    "hasty": [
        '<think>The alarm is in the clock.</think>\n{"action_type": "open_app", "app_name": "clock"}',
        '<think>There is the list.</think>\n{"action_type": "click", "x": 540, "y": 700}',
        '<think>It is further down.</think>\n{"action_type": "scroll", "direction": "up"}',
        '<think>Half past seven.</think>\n{"action_type": "input_text", "text": "7:30"}',
    ],
}


def score(responses: list[str]) -> Scores:
    """A tenth for an answer that can be read, a fifth of the rest for the right action, all for the right step."""
    reward = recipe("action", response_space="pixel", point_share=0.14, type_weight=0.2)
    return reward.score(responses, TARGETS)


def main() -> None:
    scores = {name: score(responses) for name, responses in ATTEMPTS.items()}
    rewards = [total for each in scores.values() for total in each.total]
    matched = [acc for each in scores.values() for acc in each.acc]
    trajectories, steps = ["alarm"] * len(rewards), [target["step"] for target in TARGETS] * len(ATTEMPTS)
    rollouts = [name for name in ATTEMPTS for _ in TARGETS]
    returns = step_returns(rewards, matched, trajectories, steps, rollouts, gamma=0.5)
    advantages = step_and_episode_advantages(returns, trajectories, steps, rollouts)
    print("attempt  step  action    type  match  total  return  advantage")
    for row, name in enumerate(rollouts):
        found, step = scores[name], steps[row]
        action = found.predictions.actions[step] or Reason(found.reason[step]).name
        print(
            f"{name:7}  {step:4}  {action:8}  {found.parts['type'][step]:4.0f}  {found.acc[step]:5.0f}"
            f"  {found.total[step]:5.2f}  {returns[row]:6.3f}  {advantages[row]:+9.2f}"
        )


if __name__ == "__main__":
    main()
