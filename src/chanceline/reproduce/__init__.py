"""Every figure and number of the paper, computed again, and what we add to them."""
