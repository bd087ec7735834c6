"""Fine-tunes a small vision transformer of timm."""

import timm
import torch

torch.manual_seed(0)
model = timm.models.vision_transformer.VisionTransformer(
    img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=2, num_classes=10
)
compiled = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
images, labels = torch.rand(4, 3, 32, 32), torch.arange(4)
for _ in range(2):
    loss = torch.nn.functional.cross_entropy(compiled(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.4f}")
