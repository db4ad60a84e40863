"""Work in a process of its own: started, heard, limited, and ended with all it made."""
