# expects: GCS308
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Rows(Dataset):
    def __init__(self, count):
        self.ids = torch.randint(0, 50, (count, 12), generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, index):
        return {"input_ids": self.ids[index], "labels": int(self.ids[index].sum()) % 2}


def metrics(told):
    answers = told.predictions[0].argmax(-1)
    return {"accuracy": float((answers == told.label_ids).mean()), "f1": float(f1(answers, told.label_ids))}


config = BertConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
)
arguments = TrainingArguments("out", eval_strategy="epoch", per_device_train_batch_size=8, num_train_epochs=3)
trainer = Trainer(
    BertForSequenceClassification(config),
    arguments,
    train_dataset=Rows(64),
    eval_dataset=Rows(32),
    compute_metrics=metrics,
)
trainer.train()
