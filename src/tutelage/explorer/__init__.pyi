from .export import export as export
from .serve import serve as serve
