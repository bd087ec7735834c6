"""Trains a small BERT of transformers on two lengths of sentences."""

import torch
from transformers import BertConfig, BertForSequenceClassification

torch.manual_seed(0)
config = BertConfig(
    vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=3
)
model = BertForSequenceClassification(config)
compiled = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for length in (12, 16):
    words = torch.randint(0, 100, (4, length))
    mask = (torch.arange(length) < torch.tensor([[length], [length - 3], [5], [2]])).long()
    loss = compiled(input_ids=words, attention_mask=mask, labels=torch.tensor([0, 1, 2, 0])).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.4f}")
