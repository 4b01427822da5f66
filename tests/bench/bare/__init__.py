"""The least that a page that saves can be: insert one row, redirect, render one page."""
