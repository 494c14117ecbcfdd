"""Read weight matrices, lists of them, and mappings of names to arrays (state dicts,
parameters).
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

import numpy as np

from tutelage._checks import InputError, shape_of, short_repr
from tutelage.bridge.description import Description, Layer, described, layer

# Names of the weights of a dense layer, and whether they are (in, out).
WEIGHTS = {"weight": False, "weights": False, "kernel": True}
BIASES = ("bias", "biases")
# Names of other arrays of a network, and the layers that have them.
STRANGE = {
    "running_mean": "normalisation",
    "running_var": "normalisation",
    "num_batches_tracked": "normalisation",
    "mean": "normalisation",
    "var": "normalisation",
    "scale": "normalisation",
    "gamma": "normalisation",
    "beta": "normalisation",
    "in_proj_weight": "attention",
    "query": "attention",
    "key": "attention",
    "value": "attention",
    "embedding": "an embedding",
}


def read(argument: str, network: object) -> Description:
    """Describe a network given as one matrix, a list of matrices, or a mapping."""
    if _is_mapping(network):
        return _of_mapping(argument, network)
    plain = isinstance(network, list | tuple) and all(map(_is_number_or_row, network))
    matrices = list(network) if isinstance(network, list | tuple) and not plain else [network]
    arrays = [as_array(f"{argument}[{i}]", W) for i, W in enumerate(matrices)]
    if len(arrays) > 1 and arrays[-1].ndim == 1:
        arrays[-1] = arrays[-1][None]  # a second layer of one output
    layers = [layer(argument, f"layer {i + 1}", W) for i, W in enumerate(arrays)]
    return described(argument, "arrays", layers)


def as_array(argument: str, value: Any) -> np.ndarray:
    """Convert an array of NumPy, JAX or PyTorch, of any floating-point type, to float64."""
    # A variable of Flax, or one of Keras.
    value = value.get_value() if hasattr(value, "get_value") else getattr(value, "value", value)
    if hasattr(value, "detach"):  # a tensor of PyTorch, which may be on a GPU, or need a gradient
        value = value.detach().cpu()
        complex_ = value.is_complex()
        value = value.numpy() if complex_ else value.double().numpy()
    if getattr(value, "dtype", None) is not None and np.dtype(value.dtype).kind in "cOSUMm":
        allowed = "weights have to be real numbers"
        raise InputError(argument, f"the type {value.dtype}", allowed, "float32 or float64")
    if shape_of(argument, value) is None:
        raise InputError(argument, short_repr(value), "it has to be an array")
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(argument, short_repr(value), "it has to be an array of numbers") from None


def _is_mapping(network: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(network, Mapping)


def _is_number_or_row(entry: object) -> bool:
    """Return whether a list with such entries is one matrix rather than several."""
    if isinstance(entry, list | tuple):
        return all(not isinstance(x, list | tuple) and np.ndim(x) == 0 for x in entry)
    return np.isscalar(entry)


def _of_mapping(argument: str, network: Mapping[Any, object]) -> Description:
    leaves = dict(_leaves(network))
    groups: dict[str, dict[str, Any]] = {}
    for path, value in leaves.items():
        prefix, _, name = path.rpartition(".")
        groups.setdefault(prefix, {})[name] = value
    layers: list[Layer] = []
    strange: list[str] = []
    for prefix, arrays in groups.items():
        kind = next((name for name in arrays if name in WEIGHTS), "")
        weights = as_array(f"{argument}[{prefix!r}]", arrays[kind]) if kind else None
        others = [n for n in arrays if n != kind and n not in BIASES]
        if weights is None or weights.ndim != 2 or others:
            strange += _named(prefix, arrays, weights)
            continue
        bias = next((arrays[name] for name in BIASES if name in arrays), None)
        b = None if bias is None else as_array(f"{argument}[{prefix!r}]", bias)
        layers.append(layer(argument, prefix or "layer 1", weights, b, transposed=WEIGHTS[kind]))
    return described(argument, "arrays", layers, strange=tuple(strange))


def _named(prefix: str, arrays: Mapping[str, object], weights: np.ndarray | None) -> Iterator[str]:
    """Describe the parts that are not dense layers."""
    words = {STRANGE[name] for name in (*arrays, *prefix.split(".")) if name in STRANGE}
    if weights is not None and weights.ndim > 2:
        words = words or {"a convolution"}
    yield f"{prefix or ', '.join(arrays)} ({', '.join(sorted(words)) or 'no dense layer'})"


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Return arrays by their paths, without the outer name ``params`` of Flax."""
    for name, value in tree.items():
        inner = path if name == "params" and not path else f"{path}.{name}".lstrip(".")
        if _is_mapping(value):
            yield from _leaves(value, inner)
        else:
            yield inner, value
