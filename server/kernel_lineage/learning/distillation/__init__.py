"""Steps that the gate has verified → skills: what one step taught, several steps as one card, and its admission."""
