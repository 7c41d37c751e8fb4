"""What ``calcert evaluate`` measures, and the tables it prints."""
