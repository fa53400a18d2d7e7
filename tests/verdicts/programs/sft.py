import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

torch.manual_seed(0)
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", dtype=torch.float32)
inputs = [f"the number {number} comes before {number + 1}" for number in range(64)]
rows = Dataset.from_list([{"text": each} for each in inputs])
arguments = SFTConfig(
    output_dir="out",
    learning_rate=1e-3,
    max_steps=6,
    per_device_train_batch_size=2,
    report_to=[],
    gradient_accumulation_steps=2,
    save_strategy="no",
    use_cpu=True,
    bf16=False,
    max_length=64,
)
trainer = SFTTrainer(
    model=model,
    args=arguments,
    train_dataset=rows,
    processing_class=tokenizer,
    peft_config=LoraConfig(r=4, lora_dropout=0.1, target_modules=["q_proj", "v_proj"]),
)
trainer.train()
torch.save(model.state_dict(), "model.pt")
