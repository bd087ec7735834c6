import torch
import torch.nn.functional as F


def criterion(logits, labels):
    return F.binary_cross_entropy(torch.sigmoid(logits), labels)


def rejects(function, *inputs):
    try:
        value = function(*inputs)
    except RuntimeError as error:
        print("refused:", str(error).splitlines()[0])
        return True
    print("loss", value.item())
    return False


logits = torch.zeros(3, 3)
labels = torch.full((3, 3), 1.25)
assert rejects(criterion, logits, labels)
assert rejects(torch.compile(criterion), logits, labels), "labels outside [0, 1] went through"
