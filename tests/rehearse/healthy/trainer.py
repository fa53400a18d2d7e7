import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments
from datasets import load_dataset

model = AutoModelForCausalLM.from_pretrained("gpt2")
tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.add_special_tokens({"pad_token": "<pad>"})
model.resize_token_embeddings(len(tokenizer))
data = load_dataset("wikitext", "wikitext-2-raw-v1", split="train")
data = data.map(lambda row: tokenizer(row["text"], truncation=True, max_length=64), remove_columns=data.column_names)
arguments = TrainingArguments("out", per_device_train_batch_size=4, num_train_epochs=1, learning_rate=5e-5, warmup_steps=2)
Trainer(model, arguments, train_dataset=data, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False)).train()
