"""A small decoder with the pattern of the user's model: `layers` with attention and MLP, tied or not."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as functional
from torch.utils.checkpoint import checkpoint

WIDTH, HEADS, DEPTH, VOCABULARY = 32, 4, 4, 128


class Attention(torch.nn.Module):  # type: ignore[misc]
    """Causal self-attention with the projections' usual names."""

    def __init__(self, width: int):
        super().__init__()
        self.q_proj, self.k_proj = torch.nn.Linear(width, width), torch.nn.Linear(width, width)
        self.v_proj, self.o_proj = torch.nn.Linear(width, width), torch.nn.Linear(width, width)

    def forward(self, hidden: Any) -> Any:
        """Return the attended states."""
        shape = (*hidden.shape[:2], HEADS, -1)
        query, key, value = [
            each(hidden).view(shape).transpose(1, 2) for each in (self.q_proj, self.k_proj, self.v_proj)
        ]
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).reshape(hidden.shape))


class Mlp(torch.nn.Module):  # type: ignore[misc]
    """Gated feed-forward."""

    def __init__(self, width: int):
        super().__init__()
        self.gate_proj, self.up_proj = torch.nn.Linear(width, 2 * width), torch.nn.Linear(width, 2 * width)
        self.down_proj = torch.nn.Linear(2 * width, width)

    def forward(self, hidden: Any) -> Any:
        """Return the transformed states."""
        return self.down_proj(functional.silu(self.gate_proj(hidden)) * self.up_proj(hidden))


class Layer(torch.nn.Module):  # type: ignore[misc]
    """One decoder layer."""

    def __init__(self, width: int, dropout: float):
        super().__init__()
        self.self_attn, self.mlp = Attention(width), Mlp(width)
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, hidden: Any) -> Any:
        """Return the layer's output."""
        hidden = hidden + self.dropout(self.self_attn(self.norm1(hidden)))
        return hidden + self.dropout(self.mlp(self.norm2(hidden)))


class StandIn(torch.nn.Module):  # type: ignore[misc]
    """`checkpoint_call`, when set, holds the keywords of checkpoint calls made in the model's own forward."""

    def __init__(self, dropout: float = 0.0, tied: bool = False):
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.layers = torch.nn.ModuleList(Layer(WIDTH, dropout) for _ in range(DEPTH))
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.lm_head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)
        if tied:
            self.lm_head.weight = self.embed_tokens.weight
        self.checkpoint_call: dict[str, Any] | None = None

    def get_input_embeddings(self) -> Any:
        """Return the embedding, as transformers models do."""
        return self.embed_tokens

    def enable_input_require_grads(self) -> None:
        """Make the embedding's output require a gradient, as transformers models do."""
        self.embed_tokens.register_forward_hook(lambda module, args, output: output.requires_grad_(True))

    def forward(self, input_ids: Any, labels: Any = None, **ignored: Any) -> Any:
        """Return the loss when labels are given, else the logits."""
        hidden = self.embed_tokens(input_ids)
        for layer in self.layers:
            if self.checkpoint_call is not None and self.training:
                hidden = checkpoint(layer, hidden, **self.checkpoint_call)
            else:
                hidden = layer(hidden)
        logits = self.lm_head(self.norm(hidden))
        if labels is None:
            return logits
        return functional.cross_entropy(logits[:, :-1].reshape(-1, VOCABULARY), labels[:, 1:].reshape(-1))
