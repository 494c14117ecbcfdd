"""ConvNets that learn: literal steps, falling loss, and equal results after interruptions."""

import numpy as np
import pytest

from tutelage._checks import InputError
from tutelage._jax import jax, jnp
from tutelage.deep.images import Images, Recipe, convnet, train_on_images
from tutelage.deep.images.record import as_dataset
from tutelage.deep.images.study import ImageStudy
from tutelage.deep.images.training import Lesson, _loss, augmented, learn
from tutelage.results import recompute

SIZE = 8
SMALL = {
    "hidden": "4",
    "keep": 0.5,
    "pretraining": Recipe(3, 0.02, batch=8, decay=True),
    "tuning": Recipe(1, 0.01, batch=8),
    "learning": Recipe(3, 0.01, batch=8),
}


def stripes(number, seed):
    """Images of two classes that a small network can distinguish: horizontal and vertical
    stripes.
    """
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, number)
    wave = 100 * (np.arange(SIZE) // 2 % 2)
    lying = np.broadcast_to(wave[:, None], (SIZE, SIZE))
    pixels = np.where(labels[:, None, None] == 0, lying, lying.T)[..., None]
    noise = random.integers(0, 60, (number, SIZE, SIZE, 3))
    return (pixels + noise).astype(np.uint8), labels


@pytest.fixture(scope="module")
def images():
    return Images(*stripes(64, 0), *stripes(40, 1))


def lesson(images, teacher=None):
    scale = jnp.asarray([[80.0] * 3, [50.0] * 3], jnp.float32)
    return Lesson(jnp.asarray(images.train), jnp.asarray(images.train_labels), scale, teacher)


def nothing(network):
    return {}


def test_steps_are_those_of_the_formula(images):
    """Two steps of a single batch in float64, written out."""
    net = convnet((3,), size=SIZE, dtype=np.float64)
    teacher = convnet((2,), seed=3, size=SIZE, dtype=np.float64)
    η, μ, λ = 0.05, 0.8, 0.01
    recipe = Recipe(2, η, 64, μ, λ, augment=False, precision="float64")
    result, measured = learn(net, lesson(images, teacher), recipe, nothing)
    scale = np.array([80.0, 50.0])
    x = jnp.asarray((images.train - scale[0]) / scale[1])
    slope = jax.jit(jax.grad(lambda net: _loss(net, teacher, x, None)))
    u = jax.tree.map(jnp.zeros_like, net)
    for _ in range(2):
        u = jax.tree.map(lambda u, g, w: μ * u + g + λ * w, u, slope(net), net)
        net = jax.tree.map(lambda w, u: w - η * u, net, u)
    for ours, theirs in zip(jax.tree.leaves(result), jax.tree.leaves(net), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)  # order of images differs
    assert np.isnan(measured["training_loss"][0]) and len(measured["training_loss"]) == 3


def test_shifted_images_are_cuts_of_padded_ones(images):
    x = images.train[:20]
    result = np.asarray(augmented(jnp.asarray(x), jax.random.key(0)))
    wide = np.pad(x, ((0, 0), (4, 4), (4, 4), (0, 0)))
    mirrored, places = 0, set()
    for one, padded in zip(result, wide, strict=True):
        cuts = {(y, z): padded[y : y + SIZE, z : z + SIZE] for y in range(9) for z in range(9)}
        straight = [at for at, cut in cuts.items() if np.array_equal(cut, one)]
        turned = [at for at, cut in cuts.items() if np.array_equal(cut[:, ::-1], one)]
        assert straight or turned
        mirrored += not straight
        places.add((straight or turned)[0])
    # 20 fair coins are all equal with probability 2⁻¹⁹; 81 places.
    assert 0 < mirrored < 20 and len(places) > 8


def test_the_rate_falls_with_a_cosine():
    recipe = Recipe(4, 0.1, decay=True)
    assert [recipe.rate(e) for e in (0, 2, 4)] == pytest.approx([0.1, 0.05, 0.0])
    assert Recipe(4, 0.1).rate(3) == 0.1


@pytest.fixture(scope="module")
def study(images):
    return train_on_images(images, multiples=(2,), runs=2, **SMALL)


@pytest.mark.slow
def test_loss_falls_and_labels_are_learned(study, images):
    longer = Recipe(10, 0.05, batch=8)
    net = convnet((3, 4), size=SIZE)
    x = (jnp.asarray(images.test, jnp.float32) - 80) / 50
    guess = jax.jit(lambda net: jnp.argmax(net(x), axis=1))

    def accuracy(net):
        return {"accuracy": np.mean(np.asarray(guess(net)) == images.test_labels)}

    _, measured = learn(net, lesson(images), longer, accuracy)
    assert measured["training_loss"][-1] < 0.5 * measured["training_loss"][1]
    # Guessing has 20 of 40 right: 32 or more with probability 1e-4.
    assert measured["accuracy"][-1] > 0.8
    falls = study["evaluation_loss"].isel(epoch=-1) < 0.7 * study["evaluation_loss"].isel(epoch=0)
    assert bool(falls.all()) and bool((study["outcome"] == "reached").all())


def test_the_dataset_has_every_run_and_epoch(study):
    assert dict(study.sizes) == {
        "multiple": 1,
        "run": 2,
        "epoch": 4,
        "teacher_1": 2,
    }
    assert len(study.attrs["teacher_accuracy"]) == 3
    last = study["teacher_correlation_1"].isel(epoch=-1)
    assert bool((abs(last) <= 1 + 1e-12).all())
    different = study["evaluation_loss"].isel(run=0) != study["evaluation_loss"].isel(run=1)
    assert bool(different.all())


def test_results_do_not_store_the_training_images(study):
    assert (
        study.attrs["computed_by"] == "deep.images.train_on_images" and study.attrs["keep"] == 0.5
    )
    with pytest.raises(InputError, match=r"^images: .*does not contain the images"):
        recompute(study)


class Enough(Exception):
    pass


def test_interrupted_and_continued_has_the_same_bits(study, images, tmp_path):
    calls = []

    def stop(stage, epoch, measured):
        calls.append((stage, epoch))
        if len(calls) in (2, 4, 6):
            raise Enough

    options = {**SMALL, "checkpoint": tmp_path / "kept", "watch": stop}
    for _ in range(3):
        with pytest.raises(Enough):
            work = ImageStudy(images, **options)
            work.student(work.teacher().network, 2, 1)
    work = ImageStudy(images, **options)
    teacher = work.teacher()
    network, measured = work.student(teacher.network, 2, 1)
    # Every epoch was learned exactly once.
    stages = {"teacher": 3, "pruned": 1, "student_2x_1": 3}
    assert calls == [(s, e + 1) for s, epochs in stages.items() for e in range(epochs)]
    for name, array in measured.items():
        np.testing.assert_array_equal(study[name].sel(multiple=2, run=1), array)
    fresh = ImageStudy(images, **SMALL).student(teacher.network, 2, 1)[0]
    for ours, theirs in zip(jax.tree.leaves(network), jax.tree.leaves(fresh), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_checkpoint_of_other_images_is_refused(images, tmp_path):
    ImageStudy(images, **SMALL, checkpoint=tmp_path).teacher()
    other = images._replace(train=images.train[::-1])
    with pytest.raises(InputError, match=r"checkpoint: got .*another file name"):
        ImageStudy(other, **SMALL, checkpoint=tmp_path).teacher()
    (tmp_path / "teacher.npz").write_bytes(b"something else")
    with pytest.raises(InputError, match="not a checkpoint"):
        ImageStudy(images, **SMALL, checkpoint=tmp_path).teacher()


def test_divergence_is_an_outcome(images):
    recipe = Recipe(3, 1e6, batch=8)
    net = convnet((3,), size=SIZE)
    seen = {"accuracy": np.asarray(0.5), "winner_1": np.arange(2)}
    _, measured = learn(
        net, lesson(images, convnet((2,), seed=1, size=SIZE)), recipe, lambda _: seen
    )
    assert len(measured["accuracy"]) == 4 and np.isnan(measured["accuracy"][-1])
    assert np.all(measured["winner_1"][-1] == -1)
    result = as_dataset(
        {}, [0.1, 0.2, 0.3], {(1, 0): measured, (2, 0): {k: v[:2] for k, v in measured.items()}}
    )
    assert result["outcome"].values.ravel().tolist() == ["diverged", "interrupted"]


def test_half_precision_learns_too(images):
    teacher = convnet((2,), seed=1, size=SIZE)
    recipe = Recipe(3, 0.02, batch=8, precision="bfloat16")
    net, measured = learn(convnet((4,), size=SIZE), lesson(images, teacher), recipe, nothing)
    assert measured["training_loss"][-1] < 0.5 * measured["training_loss"][1]
    assert net.weights[0].dtype == np.float32


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"batch": 65}, "batch: got 65, but there are 64 images"),
        ({"epochs": 0}, "epochs"),
        ({"learning_rate": -0.1}, "learning_rate"),
        ({"momentum": -0.1}, "momentum"),
        ({"momentum": 1.0}, "momentum: got 1.0"),
        ({"precision": "half"}, "precision: got 'half'"),
    ],
)
def test_recipes_are_checked_before_any_work(images, change, match):
    with pytest.raises(InputError, match=match):
        ImageStudy(images, **{**SMALL, "learning": SMALL["learning"]._replace(**change)})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda x: {"train_labels": x.train_labels[:-1]}, r"train_labels of shape \(63,\)"),
        (lambda x: {"test_labels": x.test_labels[:, None]}, r"test_labels of shape \(40, 1\)"),
        (lambda x: {"train_labels": x.train_labels + 0.5}, "type float64"),
        (lambda x: {"train_labels": x.train_labels - 1}, "train_labels from -1 to 0"),
        (lambda x: {"test_labels": x.test_labels + 9}, "test_labels from 9 to 10"),
        (lambda x: {"test": x.test[:, ::2, ::2]}, r"test of shape \(40, 4, 4, 3\)"),
        (lambda x: {"train": x.train[..., 0]}, r"train of shape \(64, 8, 8\)"),
    ],
)
def test_images_are_checked_before_any_work(images, change, match):
    with pytest.raises(InputError, match=rf"^images: got .*{match}"):
        train_on_images(images._replace(**change(images)), **SMALL)


@pytest.mark.parametrize(
    "options", [{"seed": -1}, {"seed": 0.5}, {"seed": True}, {"keep": 1.5}, {"keep": 0}]
)
def test_options_are_checked_before_any_work(images, options):
    with pytest.raises(InputError, match=f"^{next(iter(options))}: got"):
        ImageStudy(images, **{**SMALL, **options})


def test_studies_are_checked_before_any_work(images):
    with pytest.raises(InputError, match=r"^images: got tuple"):
        train_on_images(tuple(images), **SMALL)
    with pytest.raises(InputError, match="empty set"):
        ImageStudy(images.part(64, 0), **SMALL)
    with pytest.raises(InputError, match="multiples"):
        train_on_images(images, multiples=(2, 2), **SMALL)
    with pytest.raises(InputError, match="multiples"):
        train_on_images(images, multiples=(0,), **SMALL)
