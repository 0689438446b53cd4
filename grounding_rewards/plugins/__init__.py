"""The extension surface: named verifiers, recipes, dialects and selectors, built in or from elsewhere."""
