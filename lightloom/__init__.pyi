from pathlib import Path

from lightloom import fabrics as fabrics
from lightloom.core.errors import LightloomError as LightloomError
from lightloom.core.schedule import Schedule as Schedule
from lightloom.core.task import Collective as Collective
from lightloom.core.task import Demand as Demand
from lightloom.core.training import Training as Training
from lightloom.front_door import bound as bound
from lightloom.front_door import load_instance as load_instance
from lightloom.front_door import plot as plot
from lightloom.front_door import read_schedule as read_schedule
from lightloom.front_door import show as show
from lightloom.front_door import solve as solve
from lightloom.front_door import synthesise as synthesise
from lightloom.front_door import train as train
from lightloom.front_door import verify as verify
from lightloom.front_door import write_schedule as write_schedule
from lightloom.instances.instance import Instance as Instance
from lightloom.replay.timeline import Timeline

__version__: str

def replay(schedule: Schedule | str | Path) -> Timeline: ...
