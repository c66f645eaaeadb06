"""The servers of the zoo: their manifests, and building what they name."""
