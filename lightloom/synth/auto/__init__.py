"""The search for the fastest schedule: candidates, predicted, realised and replayed."""
