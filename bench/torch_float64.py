"""mhc_pre in PyTorch float64 on the CPU, one thread: the peer that a kernel author would reach for.

Prints the seconds of the median of five evaluations after a warm-up, or says that torch is not there.
"""

import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("torch is not installed: apt-get install python3-torch, or pip install torch")
    sys.exit(0)


def mhc_pre(residual, fn, scale, base, rms_eps, pre_eps, sinkhorn_eps, mult, repeat):
    tokens, n, hidden = residual.shape
    x = residual.double().reshape(tokens, n * hidden)
    inverse_rms = torch.rsqrt(x.square().mean(dim=1, keepdim=True) + rms_eps)
    mixes = (x @ fn.double().T) * inverse_rms
    pre = torch.sigmoid(mixes[:, :n] * scale[0] + base[:n]) + pre_eps
    post = torch.sigmoid(mixes[:, n : 2 * n] * scale[1] + base[n : 2 * n]) * mult
    comb = (mixes[:, 2 * n :] * scale[2] + base[2 * n :]).reshape(tokens, n, n).softmax(dim=2) + sinkhorn_eps
    comb = comb / (comb.sum(dim=1, keepdim=True) + sinkhorn_eps)
    for _ in range(repeat - 1):
        comb = comb / (comb.sum(dim=2, keepdim=True) + sinkhorn_eps)
        comb = comb / (comb.sum(dim=1, keepdim=True) + sinkhorn_eps)
    layer_input = (pre.unsqueeze(2) * residual.double()).sum(dim=1)
    return post, comb, layer_input.to(residual.dtype)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    tokens, n, hidden = 1024, 4, 7168
    residual = torch.randn(tokens, n, hidden).bfloat16()
    fn = torch.randn(n * (n + 2), n * hidden) / (n * hidden) ** 0.5
    scale, base = torch.ones(3).double(), torch.randn(n * (n + 2)).double()
    seconds = []
    for _ in range(6):
        start = time.perf_counter()
        mhc_pre(residual, fn, scale, base, 1e-6, 1e-6, 1e-6, 2.0, 20)
        seconds.append(time.perf_counter() - start)
    print(f"PyTorch {torch.__version__} float64, one thread, no certificate and no bound: "
          f"{statistics.median(seconds[1:]):.3f} s")


main()
