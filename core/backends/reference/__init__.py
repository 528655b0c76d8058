"""Reference mode: the numpy backend in the order of summation of one build of ggml-cpu, bit by bit.

That build is the one of the wheel xllamacpp 2026.10.11549: ggml 0.26.0 for x86-64 with AVX2, FMA and F16C, without
AVX512, tinyBLAS of llamafile included, weights not repacked, 1 thread. Other builds of ggml sum in another order.
"""
