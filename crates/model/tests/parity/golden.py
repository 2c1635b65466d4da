"""Makes golden.json: what scipy, numpy and statsmodels say of problems that the tests make alike.

    pip install scipy statsmodels && python golden.py > golden.json
"""

import json

import numpy
import scipy
import scipy.optimize
import statsmodels
import statsmodels.api


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


golden = {"scipy": scipy.__version__, "statsmodels": statsmodels.__version__, "nnls": [], "least_squares": [], "ols": []}
for seed in range(1, 51):
    a, b = problem(seed)
    golden["nnls"].append(list(scipy.optimize.nnls(a, b)[0]))
    golden["least_squares"].append(list(numpy.linalg.lstsq(a, b, rcond=None)[0]))
    golden["ols"].append(list(statsmodels.api.OLS(b, a).fit().params))
print(json.dumps(golden, indent=0))
