"""The parts of atlas/upstream/measure."""
