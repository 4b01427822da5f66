"""The contract: what an instrument is, what a protocol and a scale declare, how they are found.

A protocol is a folder with an `AppConfig` that subclasses `ProtocolConfig`, a scale one with a
`ScaleConfig`. They declare; the site does. Nothing outside a folder names it, except one line of
`PROTOCOLS` or `SCALES` in settings.
"""

from evalsite.instruments.schema import Eligibility as Eligibility
from evalsite.instruments.schema import EntryQuestion as EntryQuestion
from evalsite.instruments.schema import NoneOf as NoneOf
from evalsite.instruments.schema import NumberRange as NumberRange
from evalsite.protocol.checking import check_instrument as check_instrument
from evalsite.protocol.data import FORMAT as FORMAT
from evalsite.protocol.faults import Fault as Fault
from evalsite.protocol.faults import Faults as Faults
from evalsite.protocol.installed import ProtocolConfig as ProtocolConfig
from evalsite.protocol.installed import find_folder as find_folder
from evalsite.protocol.installed import get_protocol as get_protocol
from evalsite.protocol.installed import installed_folders as installed_folders
from evalsite.protocol.installed import installed_protocols as installed_protocols
from evalsite.protocol.installed_scales import ScaleConfig as ScaleConfig
from evalsite.protocol.installed_scales import get_scale as get_scale
from evalsite.protocol.installed_scales import installed_scales as installed_scales
from evalsite.protocol.instrument import InvalidInstrument as InvalidInstrument
from evalsite.protocol.instrument import Protocol as Protocol
from evalsite.protocol.parts import Aid as Aid
from evalsite.protocol.parts import CheckQuestion as CheckQuestion
from evalsite.protocol.parts import Column as Column
from evalsite.protocol.parts import Criterion as Criterion
from evalsite.protocol.parts import Design as Design
from evalsite.protocol.parts import Example as Example
from evalsite.protocol.parts import Ignore as Ignore
from evalsite.protocol.parts import IgnoreReason as IgnoreReason
from evalsite.protocol.parts import InputColumn as InputColumn
from evalsite.protocol.parts import Layout as Layout
from evalsite.protocol.parts import Source as Source
from evalsite.protocol.scale import Scale as Scale
