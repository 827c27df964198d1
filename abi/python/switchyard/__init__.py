"""Switchyard from Python: plan, train and run one neural network that is split over several devices.

    import switchyard

    with switchyard.Runtime("model.toml") as runtime:
        plan = runtime.plan()                     # nothing is allocated yet
        print(plan)
        with plan.build() as pipe:
            for inputs, targets in batches:       # of numpy, torch, or anything else that speaks DLPack
                print(pipe.step(inputs, targets).loss)
            pipe.save("trained")

``ctypes`` over ``libswitchyard.so.1``, and nothing else: numpy and torch are used where the caller has them.
``switchyard.torch`` wraps a pipe as a ``torch.nn.Module``; ``switchyard.plugin`` holds what is needed for a policy in Python.
"""

from ._library import version
from .errors import Code, Error
from .log import Level, log_to
from .pipe import Kind, Parameter, Pipe
from .results import Generated, Peak, Report, StepResult
from .runtime import Plan, Runtime
from .tensors import SupportsDLPack, Tensor, TensorLike

__all__ = [
    "Code",
    "Error",
    "Generated",
    "Kind",
    "Level",
    "Parameter",
    "Peak",
    "Pipe",
    "Plan",
    "Report",
    "Runtime",
    "StepResult",
    "SupportsDLPack",
    "Tensor",
    "TensorLike",
    "log_to",
    "version",
]
