import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=128,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    attention_dropout=0.1,
)
model = LlamaForCausalLM(config)
inputs = torch.randint(0, 128, (64, 16))
rows = [{"input_ids": each, "labels": each} for each in inputs]
arguments = TrainingArguments(
    output_dir="out",
    learning_rate=1e-3,
    weight_decay=0.1,
    max_steps=8,
    per_device_train_batch_size=2,
    gradient_accumulation_steps=2,
    gradient_checkpointing=True,
    report_to=[],
    save_strategy="no",
    use_cpu=True,
)
trainer = Trainer(model=model, args=arguments, train_dataset=rows)
trainer.train()
torch.save(model.state_dict(), "model.pt")
