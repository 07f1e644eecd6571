"""Burns CPU time in known shares.

spin.py [SECONDS=1.5]            3 parts of it in `hot`, 1 part in `cool`
spin.py threads [SECONDS]        in two threads named alpha and beta, while the main thread waits
spin.py children [SECONDS]       in a child process
"""

import subprocess
import sys
import threading
import time


def hot(until):
    x = 0
    while time.thread_time() < until:
        for i in range(20000):
            x += i * i  # HOT LINE
    return x


def cool(until):
    x = 0
    while time.thread_time() < until:
        for i in range(20000):
            x ^= i  # COOL LINE
    return x


def burn(seconds):
    used = time.thread_time()
    end = used + seconds
    while used < end:
        hot(used + 0.03)
        cool(used + 0.04)
        used += 0.04


if __name__ == "__main__":
    words = sys.argv[1:]
    how = words.pop(0) if words and not words[0][0].isdigit() else "here"
    seconds = float(words[0]) if words else 1.5
    if how == "threads":
        threads = [threading.Thread(target=burn, args=(seconds,), name=n) for n in ("alpha", "beta")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    elif how == "children":
        subprocess.run([sys.executable, __file__, str(seconds)], check=True)
    else:
        burn(seconds)
    print("done", flush=True)
