"""Names in code font lead to the reference: `tl.online.evolve(...)`, `online.evolve`, a name of
several words that only one function has, or `evolve` in a docstring.

Names of NumPy, xarray, JAX and matplotlib lead to their documentation, by the table `FOREIGN`:
the build asks no other host.  A name that is not known stays plain code.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

CALL = re.compile(r"(?<=\w)\(.*\)$")
NAME = re.compile(r"(?:tl|tutelage)(?:\.\w+)+|\w+(?:\.\w+)*")
XARRAY = "https://docs.xarray.dev/en/stable/generated/"
JAX = "https://docs.jax.dev/en/latest/_autosummary/"
NUMPY = "https://numpy.org/doc/stable/reference/generated/"
FOREIGN = {
    "xarray.Dataset": XARRAY + "xarray.Dataset.html",
    "xr.Dataset": XARRAY + "xarray.Dataset.html",
    "xarray.DataArray": XARRAY + "xarray.DataArray.html",
    "xarray.open_dataset": XARRAY + "xarray.open_dataset.html",
    "xr.open_dataset": XARRAY + "xarray.open_dataset.html",
    "Dataset.sel": XARRAY + "xarray.Dataset.sel.html",
    "jax.vmap": JAX + "jax.vmap.html",
    "jax.jit": JAX + "jax.jit.html",
    "jax.grad": JAX + "jax.grad.html",
    "jax.jacfwd": JAX + "jax.jacfwd.html",
    "jax.Array": JAX + "jax.Array.html",
    "jax.numpy": "https://docs.jax.dev/en/latest/jax.numpy.html",
    "jnp.where": JAX + "jax.numpy.where.html",
    "numpy.ndarray": NUMPY + "numpy.ndarray.html",
    "np.linspace": NUMPY + "numpy.linspace.html",
    "np.geomspace": NUMPY + "numpy.geomspace.html",
    "np.savez": NUMPY + "numpy.savez.html",
    "numpy.random.Generator": "https://numpy.org/doc/stable/reference/random/generator.html",
    "matplotlib.axes.Axes": "https://matplotlib.org/stable/api/_as_gen/matplotlib.axes.Axes.html",
    "optax": "https://optax.readthedocs.io/en/latest/",
    "equinox": "https://docs.kidger.site/equinox/",
    "scipy.integrate.solve_ivp": "https://docs.scipy.org/doc/scipy/reference/generated/"
    "scipy.integrate.solve_ivp.html",
}


def name_role(name, rawtext, text, lineno, inliner, options=None, content=None):
    """The default role of docstrings: code, with the module in which it stands."""
    module = inliner.document.settings.env.ref_context.get("py:module", "")
    return [nodes.literal(rawtext, text, module=module or "tutelage")], []


class Links(SphinxPostTransform):
    """Wrap known names in references."""

    default_priority = 20

    def run(self, **kwargs) -> None:
        domain = self.env.domains["py"]
        for node in list(self.document.findall(nodes.literal)):
            if is_inside(node, (nodes.reference, nodes.title)) or "code" in node["classes"]:
                continue
            reference = self.reference(node, domain.objects)
            if reference is not None:
                node.parent.replace(node, reference)
                reference += node

    def reference(self, node: nodes.literal, objects: dict) -> nodes.reference | None:
        name = CALL.sub("", node.astext())
        if name in FOREIGN:
            return nodes.reference("", "", internal=False, refuri=FOREIGN[name])
        full = full_name(name, node.get("module", ""), objects) if NAME.fullmatch(name) else None
        if full is None:
            return None
        entry, builder = objects[full], self.app.builder
        place = builder.get_relative_uri(self.env.current_document.docname, entry.docname)
        if entry.docname == self.env.current_document.docname:
            place = ""
        return nodes.reference(
            "", "", internal=True, refuri=f"{place}#{entry.node_id}", reftitle=full
        )


def is_inside(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    """Whether a node is part of one of these kinds, at any depth: links are not nested."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


def full_name(name: str, module: str, objects: dict) -> str | None:
    """The documented name: as a page writes it, or next to the module of a docstring."""
    if name.startswith(("tl.", "tutelage.")):
        candidates = ["tutelage." + name.partition(".")[2]]
    elif module:
        parts = module.split(".")
        candidates = [".".join([*parts[:n], name]) for n in range(len(parts), 0, -1)]
    elif "." in name:
        candidates = [f"tutelage.{name}"]
    else:  # fixed_point, but not what may be a word or a variable, as plateau and run
        functions = (n for n, entry in objects.items() if entry.objtype == "function")
        candidates = [n for n in functions if "_" in name and n.endswith(f".{name}")]
        # Top-level names are those of variables as well: generalization_error.
        candidates = candidates if len(candidates) == 1 and candidates[0].count(".") > 1 else []
    # Activations are documented where users find them: tl.ReLU, not tl.activations.ReLU.
    candidates += ["tutelage." + c.rpartition(".")[2] for c in candidates if ".activations." in c]
    return next((c for c in candidates if c in objects), None)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_role("name", name_role)
    app.add_post_transform(Links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
