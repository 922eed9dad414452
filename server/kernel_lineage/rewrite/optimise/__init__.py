"""The search over skills for one kernel: proposals, the gate's verdicts on them, and what is promoted."""
