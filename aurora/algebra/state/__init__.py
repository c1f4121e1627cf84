"""What a box keeps from one train to the next, and what it gets when it is called."""
