"""Ledgers: what remains of any number of rows once they are counted in fine steps of the prediction."""
