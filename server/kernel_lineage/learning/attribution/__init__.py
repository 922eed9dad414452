"""A step that does several things at once → the edits of which each is right on its own, with what each gains."""
