"""Binnings: rules that cut predictions into cells."""
