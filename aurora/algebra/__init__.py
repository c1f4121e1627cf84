"""SQuAl: the operators, their schema rules and their kernels. No Spark, no files, no clock.

Each module here is a box; `variants` has other forms of some, `box` what they share, the other folders what they use.
"""
