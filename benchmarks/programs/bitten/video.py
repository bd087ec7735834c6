"""Doubles the frames of a clip in channels-last before a convolution, for inference."""

import torch
from torch import nn

torch.manual_seed(0)
decoder = nn.Sequential(nn.Upsample(scale_factor=(2, 1, 1), mode="nearest"), nn.Conv3d(3, 4, 1))
decoder = decoder.to(memory_format=torch.channels_last_3d)
decode = torch.compile(decoder, backend="aot_eager")
with torch.no_grad():
    for length in (2, 3):
        clip = torch.rand(2, 3, length, 4, 4).to(memory_format=torch.channels_last_3d)
        print(tuple(decode(clip).shape))
