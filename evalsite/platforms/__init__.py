"""Where people come from: the contract of platforms, and a table of them."""

from evalsite.platforms.contract import Bonus as Bonus
from evalsite.platforms.contract import Decision as Decision
from evalsite.platforms.contract import Exit as Exit
from evalsite.platforms.contract import Export as Export
from evalsite.platforms.contract import Leave as Leave
from evalsite.platforms.contract import Outcome as Outcome
from evalsite.platforms.contract import Parameter as Parameter
from evalsite.platforms.contract import Platform as Platform
from evalsite.platforms.contract import Reason as Reason
from evalsite.platforms.contract import Setting as Setting
from evalsite.platforms.contract import Status as Status
from evalsite.platforms.contract import are_safe as are_safe
from evalsite.platforms.table import find_open_link as find_open_link
from evalsite.platforms.table import get_platform as get_platform
from evalsite.platforms.table import installed_platforms as installed_platforms
