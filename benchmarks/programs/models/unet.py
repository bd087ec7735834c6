"""Denoises with a small U-Net of diffusers."""

import torch
from diffusers import DDPMScheduler, UNet2DModel

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=16,
    layers_per_block=1,
    block_out_channels=(8, 16),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=4,
    attention_head_dim=8,
)
compiled = torch.compile(model)
scheduler = DDPMScheduler(num_train_timesteps=10)
images = torch.rand(2, 3, 16, 16)
with torch.no_grad():
    for time in (9, 5):
        noise = compiled(images, time).sample
        images = scheduler.step(noise, time, images, generator=torch.Generator().manual_seed(0)).prev_sample
        print(f"mean {images.mean().item():.4f}")
