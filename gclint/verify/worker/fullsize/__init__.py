"""A training step at full size on fake tensors: shapes and memory, and no number computed."""
