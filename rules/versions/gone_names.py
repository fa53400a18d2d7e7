"""Names of transformers, trl, peft and datasets that are gone: by module, with the first release that was seen without.

Read off 88 wheels (transformers 4.28.1 to 5.24.0, trl 0.7.11 to 1.16.0, peft 0.4.0 to 0.21.2, datasets 2.0.0 to 5.2.0),
of the names that training programs take; each was tried on the newest and is not there. Between the last release with a
name and the one here nothing is known, and nothing is said. `tests/versions/test_gone_names.py` holds the table to what
is installed.
"""

from __future__ import annotations

import re

GONE: dict[tuple[str, str], str] = {
    ("datasets", "3.0.2"): (
        "BeamBasedBuilder Metric MetricInfo Summarization TextClassification inspect_metric list_datasets "
        "list_metrics load_metric set_caching_enabled"
    ),
    ("peft", "0.10.0"): "prepare_model_for_int8_training",
    ("peft", "0.19.1"): "BoneConfig BoneModel",
    ("peft.utils", "0.10.0"): "prepare_model_for_int8_training",
    ("peft.utils.other", "0.10.0"): "prepare_model_for_int8_training",
    ("transformers", "4.39.3"): "top_k_top_p_filtering",
    ("transformers", "4.41.2"): (
        "ALBERT_PRETRAINED_MODEL_ARCHIVE_LIST ALL_PRETRAINED_CONFIG_ARCHIVE_MAP "
        "BERT_PRETRAINED_CONFIG_ARCHIVE_MAP BERT_PRETRAINED_MODEL_ARCHIVE_LIST "
        "DISTILBERT_PRETRAINED_MODEL_ARCHIVE_LIST GPT2_PRETRAINED_MODEL_ARCHIVE_LIST HfAgent "
        "ROBERTA_PRETRAINED_CONFIG_ARCHIVE_MAP ROBERTA_PRETRAINED_MODEL_ARCHIVE_LIST "
        "T5_PRETRAINED_MODEL_ARCHIVE_LIST XLNET_PRETRAINED_MODEL_ARCHIVE_LIST"
    ),
    ("transformers", "4.44.2"): "Conversation ConversationalPipeline",
    ("transformers", "4.46.3"): "ForceTokensLogitsProcessor",
    ("transformers", "4.49.0"): "LogitsWarper PyTorchBenchmark PyTorchBenchmarkArguments",
    ("transformers", "4.50.3"): "AdamW",
    ("transformers", "4.51.3"): "is_torch_tpu_available",
    ("transformers", "4.52.4"): "ReactCodeAgent",
    ("transformers", "4.57.6"): "BeamSearchScorer",
    ("transformers", "5.0.0"): (
        "AutoModelForVision2Seq AutoModelWithLMHead BeamScorer BeitFeatureExtractor CLIPFeatureExtractor "
        "ConstrainedBeamSearchScorer ConvNextFeatureExtractor DPTFeatureExtractor DeiTFeatureExtractor "
        "DetrFeatureExtractor DisjunctiveConstraint GPTSanJapaneseForConditionalGeneration HybridCache "
        "LineByLineTextDataset LineByLineWithRefDataset LineByLineWithSOPTextDataset MMBTForClassification "
        "MODEL_FOR_VISION_2_SEQ_MAPPING MODEL_WITH_LM_HEAD_MAPPING OffloadedCache OpenLlamaForCausalLM "
        "PhrasalConstraint RetriBertModel SegformerFeatureExtractor SinkCache SlidingWindowCache "
        "SpecialTokensMixin SummarizationPipeline Text2TextGenerationPipeline TextDataset "
        "TextDatasetForNextSentencePrediction TransfoXLConfig TransfoXLLMHeadModel TransfoXLModel "
        "TransfoXLTokenizer TranslationPipeline ViTFeatureExtractor ViltFeatureExtractor Wav2Vec2Tokenizer "
        "load_tf_weights_in_bert load_tf_weights_in_gpt2 load_tf_weights_in_t5"
    ),
    ("transformers", "5.20.2"): (
        "DataProcessor GlueDataTrainingArguments GlueDataset InputExample InputFeatures "
        "SingleSentenceClassificationProcessor SquadDataTrainingArguments SquadDataset SquadExample "
        "SquadFeatures SquadV1Processor SquadV2Processor glue_compute_metrics "
        "glue_convert_examples_to_features glue_output_modes glue_processors glue_tasks_num_labels "
        "squad_convert_examples_to_features xnli_compute_metrics xnli_processors"
    ),
    ("transformers.file_utils", "4.39.3"): "is_torch_tpu_available",
    ("transformers.file_utils", "5.0.0"): "is_offline_mode",
    ("transformers.generation", "4.49.0"): "LogitsWarper",
    ("transformers.generation", "4.57.6"): "BeamSearchScorer",
    ("transformers.generation", "5.0.0"): (
        "BeamSearchDecoderOnlyOutput GreedySearchDecoderOnlyOutput GreedySearchEncoderDecoderOutput "
        "SampleDecoderOnlyOutput SampleEncoderDecoderOutput"
    ),
    ("transformers.generation.logits_process", "4.49.0"): "LogitsWarper",
    ("transformers.generation.utils", "4.57.6"): "BeamSearchScorer",
    ("transformers.generation.utils", "5.0.0"): (
        "BeamSampleOutput BeamSearchOutput ContrastiveSearchOutput GreedySearchDecoderOnlyOutput "
        "GreedySearchOutput SampleDecoderOnlyOutput SampleOutput"
    ),
    ("transformers.integrations", "4.33.3"): "default_hp_search_backend",
    ("transformers.integrations", "4.36.2"): "is_fairscale_available",
    ("transformers.modeling_utils", "4.47.1"): "shard_checkpoint",
    ("transformers.modeling_utils", "4.51.3"): "dtype_byte_size",
    ("transformers.modeling_utils", "4.53.3"): (
        "PoolerAnswerClass PoolerEndLogits PoolerStartLogits SQuADHead SequenceSummary"
    ),
    ("transformers.modeling_utils", "4.56.2"): (
        "Conv1D apply_chunking_to_forward find_pruneable_heads_and_indices prune_conv1d_layer prune_layer "
        "prune_linear_layer"
    ),
    ("transformers.modeling_utils", "5.0.0"): "load_sharded_checkpoint no_init_weights",
    ("transformers.models.bart.modeling_bart", "4.36.2"): "_expand_mask",
    ("transformers.models.bart.modeling_bart", "4.53.3"): "BART_ATTENTION_CLASSES BartFlashAttention2",
    ("transformers.models.bert.modeling_bert", "5.0.0"): "BertSdpaSelfAttention load_tf_weights_in_bert",
    ("transformers.models.clip.modeling_clip", "4.36.2"): "_expand_mask",
    ("transformers.models.clip.modeling_clip", "5.10.4"): "CLIPTextTransformer CLIPVisionTransformer",
    ("transformers.models.llama.modeling_llama", "4.39.3"): "_expand_mask _make_causal_mask",
    ("transformers.models.llama.modeling_llama", "4.48.3"): (
        "LLAMA_ATTENTION_CLASSES LlamaDynamicNTKScalingRotaryEmbedding LlamaFlashAttention2 "
        "LlamaLinearScalingRotaryEmbedding LlamaSdpaAttention"
    ),
    ("transformers.models.llama.modeling_llama", "4.52.4"): "LLAMA_INPUTS_DOCSTRING",
    ("transformers.models.mistral.modeling_mistral", "4.48.3"): (
        "MISTRAL_ATTENTION_CLASSES MistralFlashAttention2 MistralSdpaAttention"
    ),
    ("transformers.models.qwen2.modeling_qwen2", "4.48.3"): (
        "QWEN2_ATTENTION_CLASSES Qwen2FlashAttention2 Qwen2SdpaAttention"
    ),
    ("transformers.models.roberta.modeling_roberta", "5.0.0"): "create_position_ids_from_input_ids",
    ("transformers.optimization", "4.50.3"): "AdamW",
    ("transformers.pytorch_utils", "5.0.0"): "find_pruneable_heads_and_indices prune_conv1d_layer prune_layer",
    ("transformers.trainer", "4.36.2"): "ShardedDDPOption is_fairscale_available",
    ("transformers.trainer", "4.39.3"): "is_torch_tpu_available",
    ("transformers.trainer", "4.53.3"): "ALL_LAYERNORM_LAYERS is_apex_available",
    ("transformers.trainer", "5.0.0"): "DistributedTensorGatherer",
    ("transformers.trainer_pt_utils", "5.0.0"): "DistributedTensorGatherer SequentialDistributedSampler",
    ("transformers.trainer_utils", "4.33.3"): "default_hp_space",
    ("transformers.trainer_utils", "4.36.2"): "ShardedDDPOption",
    ("transformers.training_args", "5.0.0"): "default_logdir",
    ("transformers.utils", "4.57.6"): "send_example_telemetry",
    ("transformers.utils", "5.0.0"): "is_offline_mode is_torch_fx_available",
    ("transformers.utils.import_utils", "5.0.0"): "is_torch_fx_available",
    ("trl", "0.13.0"): "DPOScriptArguments PPOv2Config PPOv2Trainer SFTScriptArguments",
    ("trl", "0.20.0"): "DataCollatorForCompletionOnlyLM",
    ("trl", "0.21.0"): "TextEnvironment TextHistory",
    ("trl", "0.24.0"): (
        "AlignPropConfig AlignPropTrainer DDPOConfig DDPOTrainer DefaultDDPOStableDiffusionPipeline "
        "IterativeSFTConfig IterativeSFTTrainer"
    ),
    ("trl", "0.25.1"): "BestOfNSampler",
    ("trl", "0.26.2"): "setup_chat_format",
    ("trl", "0.27.2"): "MergeModelCallback",
    ("trl", "0.29.1"): (
        "BCOConfig BCOTrainer CPOConfig CPOTrainer GKDConfig GKDTrainer ORPOConfig ORPOTrainer OnlineDPOConfig "
        "OnlineDPOTrainer WinRateCallback"
    ),
    ("trl", "1.16.0"): (
        "AutoModelForCausalLMWithValueHead AutoModelForSeq2SeqLMWithValueHead NashMDConfig NashMDTrainer "
        "PPOConfig PPOTrainer PRMConfig PRMTrainer PreTrainedModelWrapper XPOConfig XPOTrainer"
    ),
    ("trl", "1.5.1"): "BasePairwiseJudge HfPairwiseJudge OpenAIPairwiseJudge PairRMJudge",
    ("trl.import_utils", "0.11.4"): "is_npu_available is_peft_available is_xpu_available",
    ("trl.import_utils", "0.24.0"): "is_diffusers_available",
    ("trl.models", "0.27.2"): "SUPPORTED_ARCHITECTURES",
    ("trl.models", "0.29.1"): "AutoModelForCausalLMWithValueHead PreTrainedModelWrapper",
    ("trl.trainer", "0.20.0"): "ConstantLengthDataset DataCollatorForCompletionOnlyLM",
    ("trl.trainer.utils", "0.14.0"): "trl_sanitze_kwargs_for_tagging",
    ("trl.trainer.utils", "0.20.0"): "ConstantLengthDataset DataCollatorForCompletionOnlyLM",
    ("trl.trainer.utils", "0.27.2"): (
        "DPODataCollatorWithPadding RewardDataCollatorWithPadding SIMPLE_CHAT_TEMPLATE first_true_indices "
        "get_reward peft_module_casting_to_bf16 truncate_right"
    ),
    ("trl.trainer.utils", "0.29.1"): "pad_to_length",
}
"""By module and first release without them: names that it had."""
NAMES = {f"{module}.{name}": since for (module, since), names in GONE.items() for name in names.split()}
"""The same by the whole name."""
MODULES: dict[str, str] = {
    "trl.environment": "0.21.0",
    "trl.models.modeling_value_head": "0.29.1",
    "trl.trainer.ppo_trainer": "0.29.1",
    "datasets.metric": "3.0.2",
    "datasets.tasks": "3.0.2",
    "transformers.generation_utils": "4.41.2",
    "transformers.tools": "4.41.2",
    "transformers.deepspeed": "4.46.3",
    "transformers.benchmark": "4.49.0",
    "transformers.agents": "4.52.4",
    "transformers.generation.beam_constraints": "5.0.0",
    "transformers.generation.beam_search": "5.0.0",
    "transformers.onnx": "5.0.0",
    "transformers.sagemaker": "5.0.0",
    "transformers.utils.bitsandbytes": "5.0.0",
    "transformers.utils.fx": "5.0.0",
    "transformers.utils.model_parallel_utils": "5.0.0",
    "transformers.data.datasets": "5.20.2",
    "transformers.data.metrics": "5.20.2",
    "transformers.data.processors": "5.20.2",
    "transformers.modeling_attn_mask_utils": "5.24.0",
}
"""Modules that are gone, and the first release without them."""
INSTEAD: dict[str, str] = {
    "datasets.load_metric": "evaluate.load, of the package evaluate",
    "peft.prepare_model_for_int8_training": "peft.prepare_model_for_kbit_training",
    "peft.utils.other.prepare_model_for_int8_training": "peft.prepare_model_for_kbit_training",
    "peft.utils.prepare_model_for_int8_training": "peft.prepare_model_for_kbit_training",
    "transformers.AdamW": "torch.optim.AdamW, whose eps and weight_decay are others by default",
    "transformers.AutoModelForVision2Seq": "transformers.AutoModelForImageTextToText",
    "transformers.AutoModelWithLMHead": "AutoModelForCausalLM or its like for masked and sequence-to-sequence models",
    "transformers.BeitFeatureExtractor": "transformers.BeitImageProcessor",
    "transformers.CLIPFeatureExtractor": "transformers.CLIPImageProcessor",
    "transformers.ConvNextFeatureExtractor": "transformers.ConvNextImageProcessor",
    "transformers.DPTFeatureExtractor": "transformers.DPTImageProcessor",
    "transformers.DeiTFeatureExtractor": "transformers.DeiTImageProcessor",
    "transformers.DetrFeatureExtractor": "transformers.DetrImageProcessor",
    "transformers.SegformerFeatureExtractor": "transformers.SegformerImageProcessor",
    "transformers.ViTFeatureExtractor": "transformers.ViTImageProcessor",
    "transformers.ViltFeatureExtractor": "transformers.ViltImageProcessor",
    "transformers.deepspeed": "transformers.integrations.deepspeed",
    "transformers.file_utils.is_torch_tpu_available": "transformers.is_torch_xla_available",
    "transformers.is_torch_tpu_available": "transformers.is_torch_xla_available",
    "transformers.modeling_utils.Conv1D": "transformers.pytorch_utils.Conv1D",
    "transformers.modeling_utils.apply_chunking_to_forward": "transformers.pytorch_utils.apply_chunking_to_forward",
    "transformers.modeling_utils.prune_linear_layer": "transformers.pytorch_utils.prune_linear_layer",
    "transformers.optimization.AdamW": "torch.optim.AdamW, whose eps and weight_decay are others by default",
    "transformers.trainer.is_torch_tpu_available": "transformers.is_torch_xla_available",
    "trl.CPOConfig": "trl.experimental.cpo.CPOConfig",
    "trl.CPOTrainer": "trl.experimental.cpo.CPOTrainer",
    "trl.GKDConfig": "trl.experimental.gkd.GKDConfig",
    "trl.GKDTrainer": "trl.experimental.gkd.GKDTrainer",
    "trl.ORPOConfig": "trl.experimental.orpo.ORPOConfig",
    "trl.ORPOTrainer": "trl.experimental.orpo.ORPOTrainer",
    "trl.OnlineDPOConfig": "trl.experimental.online_dpo.OnlineDPOConfig",
    "trl.OnlineDPOTrainer": "trl.experimental.online_dpo.OnlineDPOTrainer",
}
"""What is there in their place, where something does the same."""
OF_MODELS = re.compile(r"transformers\.models\.(?!kosmos2_5\.)\w+\.modeling_\w+\.[A-Z0-9_]+_(INPUTS|START)_DOCSTRING")
"""The texts from which the models' docstrings were put together, up to `auto_docstring`: all 590 of 4.47.1 are gone in
4.53.3, and one model that came later has them again.
"""
OF_MODELS_SINCE = "4.53.3"
OF_MODELS_WORDS = ("_INPUTS_DOCSTRING", "_START_DOCSTRING")


def gone_since(name: str) -> str | None:
    """The first release of its package that is known not to have a name or a module; None where it is not known."""
    since = NAMES.get(name) or MODULES.get(name)
    return since or (OF_MODELS_SINCE if OF_MODELS.fullmatch(name) else None)
