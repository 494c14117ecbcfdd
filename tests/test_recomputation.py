"""Every public function that returns a Dataset writes the same attributes and is computed again.

Their calls are those of `good_calls`; one that is missing fails here and in `test_refusals`.
"""

import inspect

import pytest
import xarray as xr
from good_calls import call, public, returns_a_dataset

from tutelage import results
from tutelage._checks import InputError

# Functions that need more than a file, and the argument that the file lacks.
REFUSED = {
    "spectra.density": "loss",
    "deep.images.train_on_images": "images",
    "bridge.correlations": "student",
}


FUNCTIONS = sorted(
    name
    for name, function in public().items()
    if returns_a_dataset(function)
    and not name.startswith("results.")
    and not name.endswith(".load")
)


def test_every_computing_package_has_public_functions():
    packages = {name.rpartition(".")[0] for name in FUNCTIONS}
    assert {"online", "simulation", "equilibrium", "gates", "spectra", "deep"} <= packages


# Functions that compile for a second, and are computed again in other fast tests as well.
SLOW = {
    "deep.images.train_on_images",
    "deep.train",
    "equilibrium.hysteresis",
    "online.evolve_symmetric",
    "simulation.aligned",
    "simulation.network",
    "spectra.train",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in FUNCTIONS],
)
def test_a_result_has_its_function_and_arguments_and_is_recomputed(name, tmp_path):
    result, function = call(name), public()[name]
    parameters, from_variables = (
        inspect.signature(function).parameters,
        getattr(function, "from_variables", {}),
    )
    assert result.attrs["computed_by"] == name
    assert {*parameters} - {"checkpoint", "progress", *from_variables} <= set(result.attrs)
    assert {"tutelage_version", "jax_version", "python_version"} <= set(result.attrs)
    results.save(result, tmp_path / "made.csv")
    xr.testing.assert_identical(results.load(tmp_path / "made.csv"), result)
    results.save(result, tmp_path / "made.nc")
    if name in REFUSED:
        with pytest.raises(InputError, match=f"{REFUSED[name]}: got"):
            results.recompute(results.load(tmp_path / "made.nc"))
        return
    recomputed = results.recompute(results.load(tmp_path / "made.nc"))
    xr.testing.assert_identical(recomputed.drop_attrs(), result.drop_attrs())
    assert recomputed.attrs.keys() == result.attrs.keys()
