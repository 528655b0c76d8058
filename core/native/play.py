"""The real llama.cpp plays a whole session, without weights and without computing anything.

It makes every decision that it would make at work: micro-batches, re-use, splits, plans. Only the load of weights, the
filling of inputs and the computation itself are left out, so that a session of a model of any size takes moments.
"""

from __future__ import annotations

from pathlib import Path

from ..decode.script import Script
from ..errors import InputError
from ..gguf.header import Header
from ..gguf.read import parse_header, read_header
from .capture import MOST_TENSORS, library_path
from .library import WrongBuild
from .parent import Call, Cancelled, Progress, converse
from .play_messages import AskPlay, Played, PlayMessage
from .slim import model_in_memory


def play(
    source: Header | str | Path | bytes,
    script: Script,
    *,
    graphs: bool = False,
    name: str = "",
    progress: Progress = None,
    cancelled: Cancelled = None,
    time_limit: float = 120,
) -> Played:
    """What the real llama.cpp does with a session, in a child process.

    Args:
        source: a header, the path of a GGUF (its data may be missing), or the bytes of a header.
        script: checked.
        graphs: hand out the graph of each shape that was built.
        name: what to call the model in messages; the file's or the script's name otherwise.
        progress: told what is being done, a few words each time.
        cancelled: asked now and then; True ends the child.
        time_limit: seconds for the child.

    Raises:
        InputError: llama.cpp cannot be asked, the file or the script is unusable, llama.cpp refuses the model or
            stops, the time is over, or the work was cancelled.
    """
    try:
        library = library_path()
    except WrongBuild as error:
        raise InputError(f"the real llama.cpp cannot be asked: {error}") from None
    if isinstance(source, Header):
        name, header = name or script.model or "the model", source
    elif isinstance(source, bytes):
        name = name or script.model or "the model"
        header = parse_header(source, name)
    else:
        name, header = name or Path(source).name, read_header(source)
    if len(header.tensors) > MOST_TENSORS:
        raise InputError(f"{name}: {len(header.tensors):,} tensors, llama.cpp is asked about {MOST_TENSORS:,} at most")
    with model_in_memory(header) as descriptor:
        question = AskPlay(str(library), f"/proc/self/fd/{descriptor}", script, graphs)
        call = Call("play_child", PlayMessage, (descriptor,), progress, cancelled, time_limit)
        answer = converse(call, question, question.model, name)
    assert isinstance(answer, Played)
    return answer
