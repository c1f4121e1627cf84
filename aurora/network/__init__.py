"""Boxes and arrows: how a network is described and checked."""
