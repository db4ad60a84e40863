from lightloom.instances.fabrics.lightpath import Lightpath as Lightpath
from lightloom.instances.fabrics.ocs import Ocs as Ocs
from lightloom.instances.fabrics.packet_forwarding import BCube as BCube
from lightloom.instances.fabrics.packet_forwarding import TopoOpt as TopoOpt
from lightloom.instances.fabrics.packet_forwarding import Torus as Torus
from lightloom.instances.fabrics.packet_tiers import (
    ElectricalCluster as ElectricalCluster,
)
from lightloom.instances.fabrics.packet_tiers import FatTree as FatTree
from lightloom.instances.fabrics.packet_tiers import IdealSwitch as IdealSwitch
from lightloom.instances.fabrics.packet_tiers import SuperPod as SuperPod
from lightloom.instances.fabrics.ramp import Ramp as Ramp
from lightloom.instances.fabrics.ring import Ring as Ring
from lightloom.instances.fabrics.ring_2d import Ring2d as Ring2d
from lightloom.instances.fabrics.sipac import Sipac as Sipac
