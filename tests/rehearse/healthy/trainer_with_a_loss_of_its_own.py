import tempfile

import torch
import torch.nn.functional as F
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

config = BertConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, num_labels=2
)


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        outputs = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        loss = F.cross_entropy(outputs.logits, labels, weight=torch.tensor([1.0, 2.0]))
        return (loss, outputs) if return_outputs else loss


data = [
    {"input_ids": torch.randint(5, 40, (8,)), "attention_mask": torch.ones(8, dtype=torch.long), "labels": n % 2}
    for n in range(32)
]
arguments = TrainingArguments(
    tempfile.mkdtemp(), per_device_train_batch_size=4, num_train_epochs=2, report_to=[], use_cpu=True,
    learning_rate=1e-3, save_strategy="no", eval_strategy="epoch",
)  # fmt: skip
Weighted(BertForSequenceClassification(config), arguments, train_dataset=data, eval_dataset=data[:8]).train()
