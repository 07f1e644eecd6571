"""Measures a function that launches three kernels, one of which takes 250 µs. Prints the result as JSON.

Under the collector the calls are made in this process, elsewhere in a new one.
"""

import json
import os

import gpu
import gpuprof

if __name__ == "__main__":
    in_other_process = not gpuprof.is_recorded()
    variables = dict(os.environ)
    result = gpuprof.bench(gpu.step, repeat=7, warmup=2)
    assert result.n == 7 and result.kernels == (3,) * 7, result
    assert result.min_ns <= result.median_ns <= result.max_ns
    assert "n = 7" in str(result) and "step" in str(result), str(result)
    # Nothing was done here if it was done elsewhere.
    assert (gpu._gpu is None) == in_other_process
    assert dict(os.environ) == variables
    if in_other_process:
        for wrong, words in ((lambda: None, "cannot be sent"), (os.getpid, "use CUDA before")):
            try:
                gpuprof.bench(wrong, repeat=2, warmup=0)
            except gpuprof.Error as error:
                assert words in str(error), error
            else:
                raise AssertionError(f"{wrong} was measured")
    print(json.dumps({"median_ns": result.median_ns, "mad_ns": result.mad_ns, "n": result.n}))
