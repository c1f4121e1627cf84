"""SQuAl: the operators, their schema rules and their kernels. No Spark, no files, no clock."""
