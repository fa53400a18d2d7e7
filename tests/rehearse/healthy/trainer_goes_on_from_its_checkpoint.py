from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, HfArgumentParser, Trainer, TrainingArguments

(arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(["--output_dir", "out"])
model = AutoModelForCausalLM.from_pretrained("gpt2")
tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.add_special_tokens({"pad_token": "<pad>"})
model.resize_token_embeddings(len(tokenizer))
data = load_dataset("wikitext", "wikitext-2-raw-v1", split="train")
data = data.map(lambda row: tokenizer(row["text"], truncation=True, max_length=64), remove_columns=data.column_names)
trainer = Trainer(model, arguments, train_dataset=data, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))
trainer.train(resume_from_checkpoint=arguments.resume_from_checkpoint)
