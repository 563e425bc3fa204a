"""A sparse rule meant for new samples: how it is found, what to expect of it, how firm its features are."""
