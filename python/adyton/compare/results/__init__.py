"""Results of a comparison: rows, figures with their noise, and the page that shows them."""
