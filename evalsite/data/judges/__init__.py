"""Labels of judges: from the rows of a file to a table of their own."""
