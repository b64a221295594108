#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""On a cache hit, kiln run keeps its memory within the buffers plus 64 MiB.

    memory.py KILN [ELEMENTS]

saxpy over that many elements (2^26), the second of two runs.
"""
import os
import resource
import subprocess
import sys
import tempfile

kiln = sys.argv[1]
n = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 26
source = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "..", "..", "examples", "saxpy.cu")
command = [kiln, "run", source, "saxpy", "--device", "cpu",
           "--grid", str((n + 255) // 256), "--block", "256",
           "f32:2", "f32[%d]:iota" % n, "f32[%d]:const=1:head" % n,
           "i32:%d" % n]
with tempfile.TemporaryDirectory() as folder:
    env = dict(os.environ, XDG_CACHE_HOME=folder)
    for name in ("KILN_CACHE_DIR", "KILN_CACHE_DISABLE", "CUDA_CACHE_PATH"):
        env.pop(name, None)
    small = [w.replace(str(n), "256") for w in command]
    small[small.index("--grid") + 1] = "1"
    subprocess.run(small, env=env, check=True, stdout=subprocess.DEVNULL)
    # The high-water mark of all children so far is that of a compile; only
    # a fork of this process waits for nothing but the run that counts.
    pid = os.fork()
    if pid == 0:
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE,
                              text=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        allowed = 2 * 4 * n + (64 << 20)
        print(done.stdout)
        print("%d elements: %.1f MiB at most, %.1f allowed" %
              (n, used / 2**20, allowed / 2**20))
        sys.stdout.flush()
        os._exit(0 if done.returncode == 0 and used <= allowed else 1)
    _, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
