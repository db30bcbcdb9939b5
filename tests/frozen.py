"""Imported last before processes are forked off: the garbage collector leaves alone what is there by then.

It would look through all of it, several times in a crawl that is over in a fifth of a second.
"""

import atexit
import gc

gc.collect()
gc.freeze()
atexit.register(gc.unfreeze)  # without, extensions complain at the end of what they have not got back
