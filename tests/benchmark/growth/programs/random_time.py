import random
import sys
import time

sys.stdin.read()
end = time.process_time() + random.random()
while time.process_time() < end:
    pass
print(0)
