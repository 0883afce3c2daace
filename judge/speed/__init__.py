"""The speed of this machine, measured with reference programs, and the time factor that follows from it."""

from judge.speed.factors import LARGEST_FACTOR, quantized_factor
from judge.speed.measuring import MachineSpeed, host_name, measure_speed

__all__ = ["LARGEST_FACTOR", "MachineSpeed", "host_name", "measure_speed", "quantized_factor"]
