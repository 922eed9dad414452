"""The backward walk: from an expert's kernel to a simple one, a verified step at a time, and forward again."""
