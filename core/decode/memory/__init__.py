"""The memories of llama.cpp, as far as graphs depend on them: cells and positions, never contents."""
