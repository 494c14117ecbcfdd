"""View of on-line learning: overlaps and error over the time α, and finite networks on top."""

from tutelage.explorer.views.online.controls import PARAMETERS
from tutelage.explorer.views.online.copying import command, python, python_of_runs
from tutelage.explorer.views.online.panels import draw
from tutelage.explorer.views.online.plateau import details, plateau_of
from tutelage.explorer.views.online.runs import stream
from tutelage.explorer.views.online.setting import dataset, program

__all__ = [
    "PARAMETERS",
    "command",
    "dataset",
    "details",
    "draw",
    "exported_details",
    "program",
    "python",
    "python_of_runs",
    "stream",
]

NAME, TITLE = "online", "On-line learning"
FORMULA = (
    "<math><mfrac><mrow><mi>d</mi><msub><mi>R</mi><mrow><mi>i</mi><mi>n</mi></mrow></msub></mrow>"
    "<mrow><mi>d</mi><mi>α</mi></mrow></mfrac><mo>=</mo><mi>η</mi><mo>⟨</mo><msub><mi>δ</mi>"
    "<mi>i</mi></msub><msub><mi>y</mi><mi>n</mi></msub><mo>⟩</mo><mo>,</mo></math> <math>"
    "<mfrac><mrow><mi>d</mi><msub><mi>Q</mi><mrow><mi>i</mi><mi>k</mi></mrow></msub></mrow><mrow>"
    "<mi>d</mi><mi>α</mi></mrow></mfrac><mo>=</mo><mi>η</mi><mo>⟨</mo><msub><mi>δ</mi><mi>i</mi>"
    "</msub><msub><mi>x</mi><mi>k</mi></msub><mo>+</mo><msub><mi>δ</mi><mi>k</mi></msub><msub>"
    "<mi>x</mi><mi>i</mi></msub><mo>⟩</mo><mo>+</mo><msup><mi>η</mi><mn>2</mn></msup><mo>⟨</mo>"
    "<msub><mi>δ</mi><mi>i</mi></msub><msub><mi>δ</mi><mi>k</mi></msub><mo>⟩</mo></math>"
)
FORMULA_TEXT = "dR_in/dα = η⟨δ_i y_n⟩, dQ_ik/dα = η⟨δ_i x_k + δ_k x_i⟩ + η²⟨δ_i δ_k⟩"
DOCUMENTATION = "online"
STREAMS, DETAILS = True, True
exported_details = plateau_of
