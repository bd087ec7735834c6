import torch
from torch.export import Dim, export


class Deltas(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.channels = channels

    def forward(self, frames, base):
        rows = frames.view(self.channels, -1)
        return torch.stack([rows[i] - base for i in range(self.channels)])


batch = Dim("batch", min=1, max=16)
shapes = {"frames": {0: 3 * batch}, "base": {0: batch}}
exported = export(Deltas(3), (torch.randn(12), torch.randn(4)), dynamic_shapes=shapes).module()
for size in (8, 2, 1):
    frames, base = torch.randn(3 * size), torch.randn(size)
    torch.testing.assert_close(exported(frames, base), Deltas(3)(frames, base))
    print("batch", size, "ok")
