"""What a comparison has found: rows, figures with their noise, and the page that shows them."""
