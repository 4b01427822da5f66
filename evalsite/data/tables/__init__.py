"""Files of any format as rows: opened, read into records, mapped to fields. No models, no HTTP."""
