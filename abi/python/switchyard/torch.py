"""A pipe as a ``torch.nn.Module``: a training loop that exists already keeps its optimizer, its schedule and its shape.

    import torch
    import switchyard.torch

    module = switchyard.torch.Module("model.toml")
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = module(inputs, targets)      # the split model with its own loss
        loss.backward()
        optimizer.step()
    scores = module(inputs)                 # predictions, without gradients

Parameters are tensors of torch, on whatever device the module was moved to. Before each use they are copied into the pipe,
after each pass their gradients are copied out: that is the price beside a pipe which keeps its own optimizer
(:meth:`switchyard.Pipe.step`). All copies wait for the host, so that a GPU may be shared with the caller's own graph.

What it cannot do: the pipe ends in its loss and gives no gradients of its inputs, so it is the last part of a graph, and
inputs that require gradients are refused.
"""

from __future__ import annotations

import os
from typing import Any, Sequence, Union

import torch

from .errors import Code, Error
from .pipe import Kind, Parameter, Pipe
from .runtime import Plan, Runtime

# Gradients without an update: the caller's optimizer does that.
_NO_UPDATE = ('train.optimizer={type="sgd",lr=0.0}', "train.clip_norm=0.0")


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to("cpu")


class _Loss(torch.autograd.Function):
    """The loss of one pass, whose backward hands out the gradients that the pass left in the pipe."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any, **_: Any) -> Any:
        module, inputs, targets, *values = arguments
        result = module.pipe.step(_on_host(inputs), _on_host(targets))
        if result.skipped:
            raise Error(Code.DATA, "a gradient is not finite")
        ctx.gradients = [module.pipe.gradient(p.index).torch().to(v.device) for p, v in zip(module._trained, values)]
        return torch.tensor(result.loss, dtype=torch.float64)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        factor = float(upstream[0])
        return (None, None, None, *(gradient * factor for gradient in ctx.gradients))


class Module(torch.nn.Module):
    """``module(inputs, targets)`` is the loss, ``module(inputs)`` the predictions.

    ``config`` is a TOML file or a run's folder, whose weights it starts from; ``sets`` are ``"KEY=VALUE"``; further keywords
    are those of :class:`switchyard.Runtime`. ``[train]`` must be there, for the size of a batch; its optimizer is not used.
    Names in ``state_dict()`` are those of the pipe behind ``layers.``; running statistics are buffers.
    """

    runtime: Runtime
    plan: Plan  #: ``print(module.plan)`` shows where everything is
    pipe: Pipe

    def __init__(
        self, config: Union[str, os.PathLike[str], None] = None, sets: Sequence[str] = (), **options: Any
    ) -> None:
        super().__init__()
        self.runtime = Runtime(config, (*sets, *_NO_UPDATE), **options)
        self.plan = self.runtime.plan()
        self.pipe = self.plan.build()
        self.layers = torch.nn.Module()
        self._trained: list[Parameter] = []
        self._tensors: list[tuple[Parameter, torch.nn.Module, str]] = []
        for parameter in self.pipe.parameters:
            if parameter.owner is None and parameter.kind in (Kind.WEIGHT, Kind.BUFFER):
                self._add(parameter)

    def _add(self, parameter: Parameter) -> None:
        *folders, name = parameter.name.split(".")
        place = self.layers
        for folder in folders:
            if folder not in place._modules:
                place.add_module(folder, torch.nn.Module())
            place = place.get_submodule(folder)
        value = self.pipe.read(parameter.index).torch().clone()
        if parameter.kind == Kind.WEIGHT:
            place.register_parameter(name, torch.nn.Parameter(value, requires_grad=parameter.trainable))
        else:
            place.register_buffer(name, value)
        self._tensors.append((parameter, place, name))
        if parameter.trainable:
            self._trained.append(parameter)

    def _write(self) -> None:
        for parameter, place, name in self._tensors:
            value: torch.Tensor = getattr(place, name)
            self.pipe.write(parameter.index, _on_host(value).contiguous())

    def _read_buffers(self) -> None:
        for parameter, place, name in self._tensors:
            if parameter.kind == Kind.BUFFER:
                with torch.no_grad():
                    getattr(place, name).copy_(self.pipe.read(parameter.index).torch())

    def forward(self, inputs: torch.Tensor, targets: torch.Tensor | None = None) -> torch.Tensor:
        """The loss, or without targets the predictions in evaluation mode.

        The loss has gradients in training mode, unless gradients are switched off; in evaluation mode it is that of
        evaluation.
        """
        if inputs.requires_grad and torch.is_grad_enabled():
            raise Error(
                Code.UNIMPLEMENTED, "a pipe gives no gradients of its inputs: detach them, or put that part into the pipe"
            )
        self._write()
        if targets is None:
            return self.pipe.forward(_on_host(inputs)).torch()
        if not (self.training and torch.is_grad_enabled()):
            return torch.tensor(self.pipe.evaluate(_on_host(inputs), _on_host(targets)).loss, dtype=torch.float64)
        values = [getattr(place, name) for parameter, place, name in self._tensors if parameter.trainable]
        loss: torch.Tensor = _Loss.apply(self, inputs, targets, *values)
        self._read_buffers()
        return loss

    def close(self) -> None:
        """Gives back what the pipe holds; parameters stay."""
        self.pipe.close()
        self.plan.close()
        self.runtime.close()
