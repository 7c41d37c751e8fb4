"""When Python looks for garbage in this process."""

from __future__ import annotations

import gc
from typing import Final

#: Objects that there are more of than at the last look before the next one. Questions in work
#: hold some hundreds each until they are answered, and are not to be looked through for that.
YOUNG: Final = 20_000


def settle() -> None:
    """Have what there is by now never looked at again, and what comes later less often.

    Modules, grammars and models stay until the end. A look through all of them takes a tenth
    of a second, in which no request goes on, and by default there is one every few hundred
    questions. Call it once the service is ready.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
