"""What pictures of matplotlib show: a curve by its label, the area of a polygon."""

import numpy as np


def line(ax, label):
    """Return the only curve with this label."""
    (found,) = [artist for artist in ax.get_lines() if artist.get_label() == label]
    return found


def area(polygon):
    """Return the area of a polygon, (corners, 2), by the shoelace formula."""
    x, y = np.asarray(polygon).T
    return abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
