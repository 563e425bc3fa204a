"""Every figure and number of the paper, made anew, and what we add to them."""
