"""The life of a decode: which micro-batches a batch becomes, and what each costs: re-used, rebuilt or planned anew."""
