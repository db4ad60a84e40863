from lightloom.instances.fabrics.bcube import BCube as BCube
from lightloom.instances.fabrics.electrical_cluster import (
    ElectricalCluster as ElectricalCluster,
)
from lightloom.instances.fabrics.fat_tree import FatTree as FatTree
from lightloom.instances.fabrics.ideal_switch import IdealSwitch as IdealSwitch
from lightloom.instances.fabrics.lightpath import Lightpath as Lightpath
from lightloom.instances.fabrics.ocs import Ocs as Ocs
from lightloom.instances.fabrics.ramp import Ramp as Ramp
from lightloom.instances.fabrics.ring import Ring as Ring
from lightloom.instances.fabrics.ring_2d import Ring2d as Ring2d
from lightloom.instances.fabrics.sipac import Sipac as Sipac
from lightloom.instances.fabrics.superpod import SuperPod as SuperPod
from lightloom.instances.fabrics.topoopt import TopoOpt as TopoOpt
from lightloom.instances.fabrics.torus import Torus as Torus
