"""Where people come from: the contract of platforms, and a table of them."""

from evalsite.people.platforms.contract import Bonus as Bonus
from evalsite.people.platforms.contract import Decision as Decision
from evalsite.people.platforms.contract import Exit as Exit
from evalsite.people.platforms.contract import Export as Export
from evalsite.people.platforms.contract import Leave as Leave
from evalsite.people.platforms.contract import Outcome as Outcome
from evalsite.people.platforms.contract import Parameter as Parameter
from evalsite.people.platforms.contract import Platform as Platform
from evalsite.people.platforms.contract import Reason as Reason
from evalsite.people.platforms.contract import Setting as Setting
from evalsite.people.platforms.contract import Status as Status
from evalsite.people.platforms.contract import are_safe as are_safe
from evalsite.people.platforms.table import find_open_link as find_open_link
from evalsite.people.platforms.table import get_platform as get_platform
from evalsite.people.platforms.table import installed_platforms as installed_platforms
