"""What a `StreamReader` is made of: what a frame means, texts known without parsing, what cannot be read."""
