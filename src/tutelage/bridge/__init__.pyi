from .correlations import correlations as correlations
from .hessian import hessian as hessian
from .models import describe as describe
from .overlaps import overlaps as overlaps
from .prediction import predict as predict
from .recorder import Recorder as Recorder
from .scenario import scenario as scenario
