"""Numbers: what more than one room needs of linear algebra, compiled code and devices."""
