"""The public decode kernels that Decant is timed against, and how they are called.

Nothing of them is here: each comes from its own package, which is imported when the peer is
made, and a peer whose package is absent says so. All of them get bf16 q, k, v, a state that
is rotated over several sets as Decant's is, and q and k that they normalise themselves.
"""

import importlib
import importlib.metadata


class Inputs:
    """One token of every row, as tensors in the forms that packages want."""

    def __init__(self, torch, batch, shape, seed):
        heads, values, dim = shape.key_heads, shape.value_heads, shape.dim
        made = torch.Generator(device="cuda").manual_seed(seed)

        def normal(*size):
            return torch.randn(*size, device="cuda", generator=made)

        self.q = normal(batch, 1, heads, dim).bfloat16()
        self.k = normal(batch, 1, heads, dim).bfloat16()
        self.v = normal(batch, 1, values, dim).bfloat16()
        self.mixed = torch.cat([t.reshape(batch, -1) for t in (self.q, self.k, self.v)], 1)
        self.a = normal(batch, values).bfloat16()
        self.b = (2 * normal(batch, values)).bfloat16()
        # The same for all seeds: these belong to the layer.
        layer = torch.Generator(device="cuda").manual_seed(1)
        self.A_log = torch.rand(values, device="cuda", generator=layer) * 2 - 1
        self.dt_bias = torch.rand(values, device="cuda", generator=layer) * 6 - 6
        gate = self.a.float() + self.dt_bias
        self.g = -self.A_log.exp() * torch.nn.functional.softplus(gate)  # [batch, values]
        self.beta = self.b.float().sigmoid().bfloat16().float()
        # KDA: a decay per key channel.
        self.g_keys = (-torch.rand(batch, values, dim, device="cuda", generator=made) * 0.2)


def expected_output(torch, inputs, state, vector_decay, scale):
    """One step in float64; `state` is [batch, heads, value, key]."""
    groups = state.shape[1] // inputs.q.shape[2]

    def unit(x):
        x = x[:, 0].double().repeat_interleave(groups, 1)
        return x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt()

    q, k, v = unit(inputs.q) * scale, unit(inputs.k), inputs.v[:, 0].double()
    decay = inputs.g_keys[:, :, None, :] if vector_decay else inputs.g[:, :, None, None]
    state = state.double() * decay.double().exp()
    update = inputs.beta.double()[..., None] * (v - torch.einsum("bhvk,bhk->bhv", state, k))
    state = state + update[..., None] * k[:, :, None, :]
    return torch.einsum("bhvk,bhk->bhv", state, q)


class Peer:
    """Sets of states of one peer. `place` counts steps within a window."""

    rule, window = "gdn", 1

    def __init__(self, torch, batch, shape, sets):
        self.torch, self.batch, self.shape, self.sets = torch, batch, shape, sets
        self.scale = shape.dim ** -0.5
        self.inputs = [Inputs(torch, batch, shape, 10 + s) for s in range(sets)]
        self.states = [self.new_state(s) for s in range(sets)]
        self.kept = [None] * sets
        self.load()

    def state_type(self):
        return self.torch.float32

    def new_state(self, seed):
        made = self.torch.Generator(device="cuda").manual_seed(100 + seed)
        shape = (self.slots(), self.shape.value_heads, self.shape.dim, self.shape.dim)
        state = self.torch.empty(shape, device="cuda", dtype=self.state_type())
        return state.normal_(std=0.1, generator=made)

    def slots(self):
        return self.batch

    def used_states(self, which):
        """[batch, heads, value, key] of a set."""
        return self.states[which]

    def check(self):
        """The relative error of the first set's first rows in one step."""
        rows = min(self.batch, 8)
        wanted = expected_output(self.torch, self.inputs[0], self.used_states(0).clone(),
                                 self.rule == "kda", self.scale)[:rows]
        out = self.step(0, 0, 0).reshape(self.batch, self.shape.value_heads, self.shape.dim)
        return float((out[:rows].double() - wanted).norm() / wanted.norm())


class FlaGdn(Peer):
    name, package, v_first = "fla-gdn-f32", "fla-core", False

    def load(self):
        module = importlib.import_module("fla.ops.gated_delta_rule.fused_recurrent")
        self.kernel = module.fused_recurrent_gated_delta_rule_fwd

    def used_states(self, which):
        state = self.states[which]
        return state if self.v_first else state.transpose(2, 3)

    def step(self, which, inputs, place):
        given = self.inputs[inputs]
        # The new state is a tensor of its own, kept so that sets do not share it.
        out, self.kept[which] = self.kernel(
            given.q, given.k, given.v, g=given.g[:, None], beta=given.beta[:, None],
            scale=self.scale, initial_state=self.states[which], output_final_state=True,
            use_qk_l2norm_in_kernel=True, **({"state_v_first": True} if self.v_first else {}))
        return out


class FlaGdnVFirst(FlaGdn):
    name, v_first = "fla-gdn-f32-v-first", True


class FlaKda(FlaGdn):
    name, rule = "fla-kda-f32", "kda"

    def load(self):
        self.kernel = importlib.import_module("fla.ops.kda").fused_recurrent_kda

    def step(self, which, inputs, place):
        given = self.inputs[inputs]
        out, self.kept[which] = self.kernel(
            given.q, given.k, given.v, g=given.g_keys[:, None], beta=given.beta[:, None],
            scale=self.scale, initial_state=self.states[which], output_final_state=True,
            use_qk_l2norm_in_kernel=True)
        return out


class Vllm(Peer):
    name, package = "vllm-gdn-f32", "vllm"

    def load(self):
        module = importlib.import_module("vllm.model_executor.layers.fla.ops.fused_recurrent")
        self.kernel = module.fused_recurrent_gated_delta_rule_packed_decode
        torch, heads = self.torch, self.shape.value_heads
        self.indices = torch.arange(1, self.batch + 1, device="cuda", dtype=torch.int32)
        self.outs = [torch.empty(self.batch, 1, heads, self.shape.dim, device="cuda",
                                 dtype=torch.bfloat16) for _ in range(self.sets)]

    def slots(self):
        return self.batch + 1  # slot 0 is for padding rows

    def used_states(self, which):
        return self.states[which][1:]

    def step(self, which, inputs, place):
        given, out = self.inputs[inputs], self.outs[which]
        self.kernel(given.mixed, given.a, given.b, given.A_log, given.dt_bias, self.scale,
                    self.states[which], out, self.indices, use_qk_l2norm_in_kernel=True)
        return out


class VllmBf16(Vllm):
    name = "vllm-gdn-bf16"

    def state_type(self):
        return self.torch.bfloat16


class Replay(Vllm):
    """A window of records; each row is at a random place of it. A full window is folded by
    the step that fills it, so the mean over the window holds every fold."""

    name, window = "replayssm-gdn-f32", 16

    def load(self):
        super().load()
        module = importlib.import_module(
            "vllm.model_executor.layers.fla.ops.fused_recurrent_replayssm")
        self.kernel = module.fused_recurrent_gated_delta_rule_replayssm
        torch, shape, slots, length = self.torch, self.shape, self.slots(), self.window

        def cache(heads):
            return 0.1 * torch.randn(slots, heads, length, shape.dim, device="cuda")

        self.caches = [(cache(shape.value_heads).bfloat16(), cache(shape.key_heads).bfloat16(),
                        -0.1 * torch.rand(slots, shape.value_heads, length, device="cuda"))
                       for _ in range(self.sets)]
        made = torch.Generator(device="cuda").manual_seed(3)
        phases = torch.randint(length, (self.sets, self.batch), device="cuda", generator=made)
        self.places = [((phases + p) % length).to(torch.int32) for p in range(length)]
        self.empty = torch.zeros(self.batch, device="cuda", dtype=torch.int32)

    def step_at(self, which, inputs, places):
        given, out = self.inputs[inputs], self.outs[which]
        values, keys, decays = self.caches[which]
        self.kernel(given.mixed, given.a, given.b, given.A_log, given.dt_bias, self.scale,
                    self.states[which], values, keys, decays, out, self.indices, places,
                    use_qk_l2norm_in_kernel=True)
        return out

    def step(self, which, inputs, place):
        return self.step_at(which, inputs, self.places[place % self.window][which])

    def check(self):
        # With empty windows a step is the rule's own.
        places, self.places = self.places, [self.empty[None]]
        try:
            return super().check()
        finally:
            self.places = places


class ReplayBf16(Replay):
    name = "replayssm-gdn-bf16"

    def state_type(self):
        return self.torch.bfloat16


class FlashInfer(Peer):
    name, package = "flashinfer-gdn-f32", "flashinfer-python"

    def load(self):
        module = importlib.import_module("flashinfer.gdn_decode")
        self.kernel = module.gated_delta_rule_decode_pretranspose
        self.outs = [self.torch.empty_like(self.inputs[0].v) for _ in range(self.sets)]

    def step(self, which, inputs, place):
        given, out = self.inputs[inputs], self.outs[which]
        self.kernel(given.q, given.k, given.v, self.states[which], given.A_log,
                    given.a[:, None], given.dt_bias, given.b[:, None], self.scale, out, True)
        return out


class FlashInferBf16(FlashInfer):
    name = "flashinfer-gdn-bf16"

    def state_type(self):
        return self.torch.bfloat16


ALL = [FlaGdn, FlaGdnVFirst, FlaKda, Vllm, VllmBf16, Replay, ReplayBf16, FlashInfer,
       FlashInferBf16]


def version_of(peer):
    """The installed version, or where an unpacked package lies."""
    try:
        return importlib.metadata.version(peer.package)
    except importlib.metadata.PackageNotFoundError:
        top = {"fla-core": "fla", "vllm": "vllm", "flashinfer-python": "flashinfer"}[peer.package]
        try:
            return getattr(importlib.import_module(top), "__version__", "a folder")
        except Exception:  # it may want a library that is not there
            return None
