"""Linear Road with superboxes compiled by hand: the same outputs as the network of boxes, from a few kernels."""
