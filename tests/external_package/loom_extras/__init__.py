"""No part of lightloom: a package with fabrics, an algorithm, a bound and a solver."""
