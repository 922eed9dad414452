"""Steps that are right in a region only, each with what a reader of the code says the region is."""
