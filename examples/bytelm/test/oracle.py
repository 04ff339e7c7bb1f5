"""The model as its definition reads (Model.h, States.h), in double, one token at a time."""

import math

from tiny_model import DIM


def matvec(weight, x):
    (rows, cols), values = weight
    return [sum(values[r * cols + c] * x[c] for c in range(cols)) for r in range(rows)]


def rms(x, weight):
    scale = 1 / math.sqrt(sum(v * v for v in x) / len(x) + 1e-6)
    return [v * scale * w for v, w in zip(x, weight)]


def silu(x):
    return x / (1 + math.exp(-x))


def unit(x, factor=1.0):
    norm = math.sqrt(sum(v * v for v in x) + 1e-6)
    return [v / norm * factor for v in x]


class Oracle:
    def __init__(self, weights):
        self.weights = weights
        self.past = [[], []]
        self.seen = [[], []]  # of each layer, per token: what its states were given
        self.states = [[[[0.0] * DIM for _ in range(DIM)] for _ in range(2)] for _ in range(2)]

    def mix(self, block, h):
        def of(name):
            return self.weights[f"blocks.{block}.mix.{name}"]
        past = self.past[block]
        past.append(matvec(of("qkv.weight"), h))
        taps = of("conv")[1]
        y = [silu(sum(taps[4 * c + tap] * past[len(past) - 4 + tap][c] for tap in range(4)
                      if len(past) - 4 + tap >= 0)) for c in range(len(past[0]))]
        keys = 1 if block == 0 else 2
        q, k, v = y[:keys * DIM], y[keys * DIM:2 * keys * DIM], y[2 * keys * DIM:]
        beta = [1 / (1 + math.exp(-b)) for b in matvec(of("b.weight"), h)]
        a = (matvec(of("a.weight"), h) if block == 0
             else matvec(of("f2.weight"), matvec(of("f1.weight"), h)))
        per_head = len(a) // 2
        g = [-math.exp(of("A_log")[1][i // per_head]) * math.log1p(math.exp(x + bias))
             for i, (x, bias) in enumerate(zip(a, of("dt_bias")[1]))]
        self.seen[block].append({"q": q, "k": k, "v": v, "g": g, "beta": beta})
        z = matvec(of("z.weight"), h)
        gated = []
        for head in range(2):
            key_head = head * keys // 2
            part = slice(key_head * DIM, (key_head + 1) * DIM)
            o = self.step(self.states[block][head], unit(q[part], DIM ** -0.5), unit(k[part]),
                          v[head * DIM:(head + 1) * DIM],
                          [g[head]] * DIM if block == 0 else g[head * DIM:(head + 1) * DIM],
                          beta[head])
            gated += [x * silu(w) for x, w in
                      zip(rms(o, of("onorm.weight")[1]), z[head * DIM:(head + 1) * DIM])]
        return matvec(of("out.weight"), gated)

    @staticmethod
    def step(state, q, k, v, g, beta):
        axis = range(DIM)
        for i in axis:
            state[i] = [math.exp(g[i]) * s for s in state[i]]
        u = [beta * (v[j] - sum(state[i][j] * k[i] for i in axis)) for j in axis]
        for i in axis:
            state[i] = [state[i][j] + k[i] * u[j] for j in axis]
        return [sum(state[i][j] * q[i] for i in axis) for j in axis]

    def token(self, byte):
        """The logits of the byte that follows."""
        width = self.weights["emb.weight"][0][1]
        x = self.weights["emb.weight"][1][byte * width:(byte + 1) * width]
        for block in range(2):
            name = f"blocks.{block}."
            mixed = self.mix(block, rms(x, self.weights[name + "n1.weight"][1]))
            x = [a + b for a, b in zip(x, mixed)]
            ab = matvec(self.weights[name + "up.weight"],
                        rms(x, self.weights[name + "n2.weight"][1]))
            half = len(ab) // 2
            hidden = [silu(a) * b for a, b in zip(ab[:half], ab[half:])]
            x = [a + b for a, b in zip(x, matvec(self.weights[name + "down.weight"], hidden))]
        return matvec(self.weights["head.weight"], rms(x, self.weights["nf.weight"][1]))
