"""One file for each framework: its object in, a `tutelage.bridge.description.Description` out."""
