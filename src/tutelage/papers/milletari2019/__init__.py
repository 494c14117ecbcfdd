"""Milletari, Chotibut and Trevisanutto, Mean field theory of activation functions (2019).

Activations as mean signals of noisy gates, the cross-entropy as a probability of labels, and the
spectra of Hessians along training.  `sections` assigns them to the parts of the paper;
`equations` has Section 2 and Appendix A, `spectra` and `architectures` the claims of Section 3
and Appendix B, `trainings` the networks, `figures` the two figures.
"""

from tutelage.papers.paper import Paper

KEY = "milletari2019"
PAPER = Paper(
    KEY,
    "Mean-field theory of activation functions in deep neural networks",
    ("sections",),
)
