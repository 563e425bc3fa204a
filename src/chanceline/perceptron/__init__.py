"""One linear rule: data checked, the largest margin, the fewest errors, and proofs of both."""
