"""The explorer: a page on this machine that shows learning while one moves its sliders.

`serve` starts it, as ``tutelage explore`` does.  A server (`server`) checks who asks (`guard`) and
what (`parameters`), and hands it to processes that compute (`worker_pool`, `worker_process`); a
view (`views`) turns a state into a picture in words (`pictures`), which the page (``static/``)
draws.  Views call public functions of the library alone; there is no physics here, nor in the page.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
