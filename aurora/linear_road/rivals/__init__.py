"""Linear Road on relational systems that poll once a second, as System X of the paper did."""
