"""What the kernels beside this file give, in float64; `_` takes the arguments that do not matter."""

import numpy as np


def matmul(a, b, **_):
    return a @ b


def transpose(x, **_):
    return x.T


def row_sum(x, **_):
    return x.sum(-1)


def row_squares(x, **_):
    return (x * x).sum(-1)


def vector_sum(out, x, **_):
    return out + x.sum()


def layernorm(x, w, b, **_):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3) * w + b


def layernorm_and_mean(x, w, b, **_):
    return {"y": layernorm(x, w, b), "mean": x.mean(-1)}


def rmsnorm(x, w, **_):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3) * w


def softmax(x, **_):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def cross_entropy(x, target, **_):
    return log_sum_exp(x) - np.take_along_axis(x, target[:, None].astype(np.int64), 1)[:, 0]


def log_sum_exp(x, **_):
    most = x.max(-1)
    return most + np.log(np.exp(x - most[..., None]).sum(-1))


def scan(x, **_):
    return x.cumsum(-1)


def histogram(bins, x, **_):
    return bins + np.bincount(x.astype(np.int64), minlength=len(bins))


def stencil(x, **_):
    near = np.pad(x, 2)
    return sum(near[2 + k : len(x) + 2 + k] / (1 + k * k) for k in range(-2, 3))


def laplace(x, **_):
    near = np.pad(x, 1)
    return near[:-2, 1:-1] + near[2:, 1:-1] + near[1:-1, :-2] + near[1:-1, 2:] - 4 * x


def embedding(table, tokens, **_):
    return table[tokens.astype(np.int64)] + 0.5 * np.arange(len(tokens))[:, None]


def pipelined(x, **_):
    return 2 * x[..., ::-1] + 1


def add(a, b, **_):
    return a - 2 * b


def dropout(x, chance, **_):
    return np.where(chance > 5, x * 2, 0)


def softmax_of_inp(inp, **_):
    return softmax(inp)
