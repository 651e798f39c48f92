"""What the laws run over, by family: the estimators as in calibstat/estimators, and everything else."""
