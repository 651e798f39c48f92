"""Estimators as scikit-learn's scorers, for cross-validation and searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.data.parameters import check_kind
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator, Headline


def scorer(estimator: Estimator, *, variables: str | Sequence[str] = ()) -> Scorer:
    """Make a scorer of scikit-learn from an estimator, for ``cross_val_score``, ``GridSearchCV`` and others.

    Scores are larger for better models, as scikit-learn expects: an error is negated, and what may be off in both
    directions, such as a z, is minus its size. Probabilities are those of ``predict_proba``, whose columns have the
    model's ``classes_``, so that a fold may lack some of them.

    A score of a plain error (ECE) contains noise, which differs from model to model and is larger in smaller folds:
    for a search take a debiased error (`DebiasedL2`) or a proper score, and test the one that was chosen on other rows.

    Parameters
    ----------
    estimator : Estimator
        With the lens it needs: ``TopLabel() | ECE()``.
    variables : str or sequence of str
        Columns of the data frame X that the estimator conditions on, as in ``Given("age") | ECE()``.

    Returns
    -------
    Scorer
        A function ``(model, X, y, sample_weight=None)`` that scikit-learn takes as ``scoring``.

    Raises
    ------
    TypeError
        If it is no estimator, or one that gives several numbers.

    Examples
    --------
    >>> import calibstat as cs
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(600, random_state=0)
    >>> scores = cross_val_score(LogisticRegression(), X, y, scoring=cs.scorer(cs.ECE()), cv=3)
    >>> [round(float(score), 2) for score in scores]
    [-0.03, -0.03, -0.04]
    """
    check_kind("estimator", estimator, Estimator, "ECE()")
    if not estimator.has_headline:
        raise TypeError(f"{estimator!r} gives several numbers, but a score is one: take one of them")
    check_kind("variables", variables, str | Sequence[str], "'age'")
    return Scorer(estimator, (variables,) if isinstance(variables, str) else tuple(variables))


@final
@dataclass(frozen=True)
class Scorer:
    """What `scorer` makes: larger is better.

    `request` says what of scikit-learn's metadata routing becomes the weights of rows: True for ``sample_weight``, or
    another name.
    """

    estimator: Estimator
    variables: tuple[str, ...] = ()
    request: bool | str | None = None

    def __call__(self, model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score a fitted classifier on rows that it was not fitted on."""
        columns = {name: X[name] for name in self.variables} or None
        sample = Sample.from_estimator(model, X, y, variables=columns, sample_weight=sample_weight)
        core = self.estimator.core
        value = (self.estimator.lens | Headline(core))(sample)
        return -float(core.evidence(np.asarray(value)))

    def set_score_request(self, *, sample_weight: bool | str | None) -> Scorer:
        """Return one that asks scikit-learn's metadata routing for the weights of rows."""
        return replace(self, request=sample_weight)

    def get_metadata_routing(self) -> Any:
        """Return what is asked of scikit-learn's metadata routing."""
        from sklearn.utils.metadata_routing import MetadataRequest

        asked = MetadataRequest(owner=self)
        asked.score.add_request(param="sample_weight", alias=self.request)
        return asked
