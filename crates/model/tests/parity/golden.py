"""Prints what scipy, numpy, statsmodels and scikit-learn say of problems that the tests make alike.

What it printed once is kept as golden.json, for machines without a network:

    pip install -r requirements.txt && python golden.py > golden.json
"""

import json
import math
import warnings

import numpy
import scipy
import scipy.optimize
import sklearn
import statsmodels
import statsmodels.api
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel


class Numbers:
    """The generator of the tests: the upper 53 bits of a linear congruence."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 11) / 2**53


def problem(seed):
    """Rows of numbers, some of them large and some small, and a right side that is noisy and partly negative."""
    numbers = Numbers(seed)
    columns = 2 + seed % 9
    rows = columns + 3 + seed % 17
    a = [[numbers.next() * 10.0 ** (column % 4 - 1) for column in range(columns)] for _ in range(rows)]
    b = [numbers.next() * 4.0 - 1.0 for _ in range(rows)]
    return numpy.array(a), numpy.array(b)


def surface(seed):
    """Places, what was measured there with noise, and places to ask about, some of them outside."""
    numbers = Numbers(seed)
    inputs = 1 + seed % 4
    points = 24 + 3 * seed

    def place(width):
        return [(numbers.next() - 0.5) * width for _ in range(inputs)]

    def height(x):
        return 0.3 * math.sin(2.0 * x[0]) + sum(0.1 * it * it for it in x[1:2]) + 0.1 * (numbers.next() - 0.5)

    x = [place(3.4) for _ in range(points)]
    y = [height(it) for it in x]
    return numpy.array(x), numpy.array(y), numpy.array([place(6.0) for _ in range(8)])


def kernel(inputs, variance, length, noise):
    """The bounds are those of the model crate."""
    return ConstantKernel(variance, (1e-5, 10.0)) * RBF([length] * inputs, (0.1, 100.0)) + WhiteKernel(noise, (1e-6, 1.0))


def process(regressor, asked):
    mean, deviation = regressor.predict(asked, return_std=True)
    return {"mean": list(mean), "deviation": list(deviation)}


def gaussian(seed):
    x, y, asked = surface(seed)
    inputs = x.shape[1]
    known = GaussianProcessRegressor(kernel(inputs, 0.2, 0.7, 0.01), alpha=1e-10, optimizer=None).fit(x, y)
    likelihood, slope = known.log_marginal_likelihood(known.kernel_.theta, eval_gradient=True)
    found = GaussianProcessRegressor(
        kernel(inputs, 0.1, 1.0, 0.01), alpha=1e-10, n_restarts_optimizer=10, random_state=1
    ).fit(x, y)
    return {
        "known": {"likelihood": likelihood, "slope": list(slope), **process(known, asked)},
        "found": {"likelihood": found.log_marginal_likelihood_value_, **process(found, asked)},
    }


# Lengths that end at their bounds are meant to.
warnings.filterwarnings("ignore")
golden = {
    "scipy": scipy.__version__,
    "statsmodels": statsmodels.__version__,
    "scikit-learn": sklearn.__version__,
    "nnls": [],
    "least_squares": [],
    "ols": [],
    "gaussian": [gaussian(seed) for seed in range(1, 9)],
}
for seed in range(1, 51):
    a, b = problem(seed)
    golden["nnls"].append(list(scipy.optimize.nnls(a, b)[0]))
    golden["least_squares"].append(list(numpy.linalg.lstsq(a, b, rcond=None)[0]))
    golden["ols"].append(list(statsmodels.api.OLS(b, a).fit().params))


def lines(value):
    """A line for each problem."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(it) for it in value) + "\n]"
    return json.dumps(value)


print("{\n" + ",\n".join(f"{json.dumps(key)}: {lines(value)}" for key, value in golden.items()) + "\n}")
