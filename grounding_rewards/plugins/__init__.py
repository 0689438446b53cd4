"""The extension surface: named verifiers, recipes, dialects and methods, built in or from elsewhere."""
