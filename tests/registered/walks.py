"""Cumulative estimators: rows in the order of what is conditioned on."""

from __future__ import annotations

import calibstat as cs
from registered.entries import ANY, MANY, Entry

ENTRIES = [
    Entry(cs.Kuiper()),
    Entry(cs.KolmogorovSmirnov()),
    Entry(cs.Kuiper(standardized=True), pairs=True),
    Entry(cs.TopLabel() | cs.KolmogorovSmirnov(standardized=True), ANY, pairs=True),
    Entry(cs.AverageTwoBin()),
    Entry(cs.CramerVonMises()),
    Entry(cs.AndersonDarling()),
    Entry(cs.CalibrationDecisionLoss(), odd=None),
    Entry(cs.DecisionLoss(), odd=None),
    Entry(cs.DecisionLoss([0.2, 0.5, 0.6]), odd=None),
    Entry(cs.TopLabel() | cs.DecisionLoss(costs=(3, 2)), ANY, odd=None),
    Entry(cs.TopLabel() | cs.Kuiper(), ANY),
    Entry(cs.Given("age") | cs.Kuiper()),
    Entry(cs.Given("age") | cs.AverageTwoBin()),
    Entry(cs.Given("age") | cs.CramerVonMises()),
    Entry(cs.Given("age") | cs.AndersonDarling()),
    Entry(cs.ClassWise("a") | cs.KolmogorovSmirnov(), MANY),
    Entry(cs.WorstInterval(), signed=True, odd=True, scalar=False, record=True),
    Entry(cs.MeanAndBridge(), signed=True, scalar=False),
    Entry(cs.BrownianBridge(), pairs=True, signed=True, scalar=False, record=True),
]
