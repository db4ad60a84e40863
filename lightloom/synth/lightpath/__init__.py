"""From rounds between ranks to segments and steps of a plane."""
