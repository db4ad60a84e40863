"""What people look at: tables, plots and figures of papers; prints nothing."""
