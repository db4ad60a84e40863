"""Tables of several papers about optical switches whose configurations change."""
