"""What the measurements of this folder share."""
