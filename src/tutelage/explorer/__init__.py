"""The explorer: a local web page that shows learning while its sliders are moved.

`serve` starts it, as ``tutelage explore`` does.  The server (`server`) checks the origin (`guard`)
and the parameters (`parameters`) of a request and passes it to worker processes (`worker_pool`,
`worker_process`).  A view (`views`) computes a description of a picture (`pictures`), and the page
(``static/``) draws it.  Views call public functions of the library only; there is no physics in
the explorer.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
