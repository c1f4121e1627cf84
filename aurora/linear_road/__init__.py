"""The Linear Road benchmark: simulator, history, driver, validator."""
