"""The questions: each looks at a recording and says what is wrong with the run, or nothing."""
