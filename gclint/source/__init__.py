"""What is read: files in any encoding, notebooks, places in them, and what is kept between runs of gclint."""
