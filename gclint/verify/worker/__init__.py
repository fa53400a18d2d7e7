"""The worker's side: the only modules of gclint that import torch or transformers, and only when they run."""
