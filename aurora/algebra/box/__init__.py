"""What boxes share: what each says of itself, which fields it keeps and needs, and parts of several of them."""
