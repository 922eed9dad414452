"""The editor's tree views: each a function from what the server has to a tree that an editor draws as it is."""
