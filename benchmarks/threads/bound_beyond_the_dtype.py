import torch

LIMIT = 1e39


def saturate(signal, gain):
    return torch.clamp(signal * gain, min=-LIMIT, max=LIMIT)


def refused(function, *arguments):
    try:
        function(*arguments)
    except RuntimeError as error:
        print(f"refused: {error}")
        return True
    return False


signal = torch.linspace(-1, 1, 9)
assert refused(saturate, signal, 2.0)
assert refused(torch.compile(saturate), signal, 2.0), "the bound is no float32, and nothing says so"
