"""What an answer is called where it is stored."""

# the criterion of passages that were marked without a question about them
HIGHLIGHTS = "highlights"
