"""Operations placed on a ring of devices, by our own algorithms and SiP-ML's."""
