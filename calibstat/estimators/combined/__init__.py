"""Estimators made of estimators: classes, groups, families, and functions of one's own."""
