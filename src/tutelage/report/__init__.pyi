from .building import build as build
from .page import write_page as write_page
from .parts import Part as Part
