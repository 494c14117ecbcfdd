"""Callbacks for training loops of Lightning, Keras and Optax.

Each is made of the class of its framework, which is imported here, when one is asked for.
"""

import sys
from typing import TYPE_CHECKING, Any

from jaxtyping import Array, Int, PyTree

from tutelage._checks import InputError

if TYPE_CHECKING:
    from tutelage.bridge.recorder import Recorder

LIGHTNING = ("lightning.pytorch", "pytorch_lightning")


def lightning(record: "Recorder") -> Any:
    """Record `on_train_start` as the start, `on_train_batch_end` as a step."""
    modules = [sys.modules[name] for name in LIGHTNING if name in sys.modules]
    if not modules:
        allowed = "import PyTorch Lightning before asking for a callback"
        raise InputError("lightning", "no such module", allowed, "import lightning.pytorch")

    class LightningRecord(modules[0].Callback):  # type: ignore[misc]
        """Records the module before training and after each step of the optimizer."""

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            optimizers: Any = getattr(trainer, "optimizers", ())
            if len(optimizers) == 1 and not record.knows_optimizer:
                record.watch(optimizers[0])
            record(pl_module, step=trainer.global_step)

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: object) -> None:
            record(pl_module, step=trainer.global_step)

    return LightningRecord()


def keras(record: "Recorder", step: int = 0) -> Any:
    """Record `on_train_begin` as the start, `on_train_batch_end` as a step."""
    import keras

    class KerasRecord(keras.callbacks.Callback):
        """Records the model before training and after each execution; epochs are
        counted together.
        """

        def __init__(self) -> None:
            super().__init__()
            self.step, self.before = step, step

        def on_train_begin(self, logs: object = None) -> None:
            if self.model.optimizer is not None and not record.knows_optimizer:
                record.watch(self.model.optimizer)
            record(self.model, step=self.step)

        def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
            self.before = self.step

        def on_train_batch_end(self, batch: int, logs: object = None) -> None:
            self.step = self.before + batch + 1
            if record.wants(self.step):
                # The JAX backend of Keras stores the weights elsewhere during training.
                getattr(self.model, "jax_state_sync", lambda: None)()
                record(self.model, step=self.step)

    return KerasRecord()


def optax(record: "Recorder") -> Any:
    """Record the parameters before each update, so that the first record is the start."""
    import jax
    import jax.numpy as jnp
    import optax
    from jax.experimental import io_callback

    def init(params: PyTree) -> Any:
        return jnp.zeros((), jnp.int32)

    def update(updates: PyTree, step: Int[Array, ""], params: PyTree | None = None) -> Any:
        if params is None:
            allowed = "the recorder needs the parameters"
            raise InputError("params", "None", allowed, "optimizer.update(grads, state, params)")

        def look(params: PyTree, step: int) -> None:
            record(params, step=int(step))

        def seen() -> None:
            io_callback(look, None, params, step, ordered=True)

        jax.lax.cond(step % record.stride == 0, seen, lambda: None)
        return updates, step + 1

    return optax.GradientTransformation(init, update)
