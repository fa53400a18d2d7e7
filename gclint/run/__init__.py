"""The run: values under guards, the heap, the interpreter that walks a program, and the events that rules ask about."""
