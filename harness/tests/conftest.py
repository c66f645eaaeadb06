from hypothesis import settings

# A loaded machine makes examples slow without making them wrong.
settings.register_profile("zoo", deadline=None)
settings.load_profile("zoo")
