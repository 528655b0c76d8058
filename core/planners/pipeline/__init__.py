"""The classic pipeline of static planning as visible stages: order, intervals, interference, places, peak and bound."""
