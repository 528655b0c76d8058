"""The real llama.cpp, of one exact build, in a child process: its graphs, memory and decisions, without weights.

`capture.capture` is the door. In the child process run `child`, `model`, `memory`, `dump`, `split_hook`, `devices`,
`asking`, `log` and `library`; in the caller `capture`, `checks`, `slim`, `parent`, `convert`, `roots` and `notes`.
`messages` is what the two say to each other, `layouts` what is known about that build.

`observe.observe` is the door to llama.cpp at work, with weights: it decodes, and every node can be looked at. In the
child run `observe_child` and `watch`; `observe_messages` and `decode_layouts` are its messages and layouts.

`play.play` is the door to llama.cpp's decisions over a whole session, without weights and without computing. In the
child run `play_child`, `play_watch`, `play_read`, `detour`, `folded` and what a capture uses; `play_messages` and
`play_layouts` are its messages and layouts.

All children share `process`.
"""
