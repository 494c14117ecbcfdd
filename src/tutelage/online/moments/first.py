"""The limit η → 0 of units with closed forms: ⟨δ_i v⟩ alone.

⟨δ_i δ_k⟩ of many units is a sum over all quadruples of fields, which takes seconds to write out.
"""

from jaxtyping import Array, Float

from tutelage._jax import has_wide_vectors
from tutelage.averages.methods import Method
from tutelage.model import Overlaps, Scenario
from tutelage.online.moments.base import EXACT, Moments, exact_first_order

# With more fields a product of matrices takes longer than calls of kernels.
MAX_FIELDS_OF_ONE_KERNEL = 16


class FirstMoments(Moments):
    """Exact averages of first order."""

    @staticmethod
    def supports(scenario: Scenario, method: Method) -> bool:
        return method.exact

    @property
    def fits_one_kernel(self) -> bool:
        return self.scenario.K + self.scenario.M <= MAX_FIELDS_OF_ONE_KERNEL

    @property
    def uses_wide_vectors(self) -> bool:
        return has_wide_vectors()

    @property
    def terms(self) -> int:
        return self.scenario.K * (self.scenario.K + self.scenario.M)

    def first_order(self, overlaps: Overlaps) -> Float[Array, "... K n"]:
        return exact_first_order(self.scenario, overlaps)

    def second_order(self, overlaps: Overlaps) -> Float[Array, "... K K"]:
        raise NotImplementedError("the limit η → 0 has no second order")

    def error(self, overlaps: Overlaps) -> float:
        return EXACT
