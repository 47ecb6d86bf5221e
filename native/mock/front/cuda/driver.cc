// libcuda.so.1: its presence is what matters; the runtime library answers everything.
