"""What a process is that was forked in place of Python: started by the tests of it."""

import json
import os
import sys

if __name__ == "__main__":
    told = {
        "name": __name__,
        "pid": os.getpid(),
        "folder": os.getcwd(),
        "word": os.environ.get("A_WORD"),
        "strange": os.environ.get("A_STRANGER"),
        "path": sys.path,
        "arguments": sys.argv[1:],
    }
    print(json.dumps(told), flush=True)
    sys.stdin.readline()
    sys.exit(7)
