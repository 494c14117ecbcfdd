from .serve import serve as serve
