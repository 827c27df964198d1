"""What steps and jobs give back. A number that does not apply is None."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from . import _structs


def number(value: float) -> float | None:
    """The library's NaN means: does not apply."""
    return None if math.isnan(value) else value


@dataclass(frozen=True)
class StepResult:
    """Of one optimizer step, or one evaluation."""

    loss: float  #: sum over valid targets / valid targets, before the update
    step: int  #: optimizer steps done
    valid: int  #: targets that counted
    accuracy: float | None  #: where targets are classes
    grad_norm: float | None  #: before clipping; None after an evaluation
    lr: float | None
    loss_scale: float
    skipped: bool  #: a gradient was not finite; nothing changed but the loss scale

    @classmethod
    def of(cls, r: _structs.StepResult) -> StepResult:
        """From the C struct."""
        return cls(
            r.loss, r.step, r.valid, number(r.accuracy), number(r.grad_norm), number(r.lr), r.loss_scale, bool(r.skipped)
        )


@dataclass(frozen=True)
class Peak:
    """Bytes of a device."""

    device: str
    planned: int
    measured: int


@dataclass(frozen=True)
class Report:
    """The state of a run after a step."""

    step: int
    steps: int  #: of the whole run
    tokens: int  #: or samples, learnt from since step 1
    counts_tokens: bool
    loss: float
    skipped: bool
    grad_norm: float | None
    lr: float | None
    loss_scale: float | None
    accuracy: float | None
    val_loss: float | None  #: where measured after this step
    val_accuracy: float | None
    tokens_per_s: float
    seconds: float
    seconds_left: float
    peaks: tuple[Peak, ...]

    @classmethod
    def of(cls, r: _structs.Report) -> Report:
        """From the C struct, which is lent for the callback alone."""
        peaks = (r.peaks[i].contents for i in range(r.n_peaks))
        return cls(
            step=r.step,
            steps=r.steps,
            tokens=r.tokens,
            counts_tokens=bool(r.counts_tokens),
            loss=r.loss,
            skipped=bool(r.skipped),
            grad_norm=number(r.grad_norm),
            lr=number(r.lr),
            loss_scale=number(r.loss_scale),
            accuracy=number(r.accuracy),
            val_loss=number(r.val_loss),
            val_accuracy=number(r.val_accuracy),
            tokens_per_s=r.tokens_per_s,
            seconds=r.seconds,
            seconds_left=r.seconds_left,
            peaks=tuple(Peak(p.device.decode(), p.planned, p.measured) for p in peaks),
        )


@dataclass(frozen=True)
class Generated:
    """Text that a model wrote."""

    prompt: str
    text: str
    ids: list[int]
    prompt_tokens: int
    end: str  #: "tokens", "stop", "context", "cancelled"
    seconds: float

    @classmethod
    def of(cls, json: dict[str, Any]) -> Generated:
        """From the library's JSON; keys of later versions are left out."""
        return cls(**{key: json[key] for key in cls.__dataclass_fields__})
