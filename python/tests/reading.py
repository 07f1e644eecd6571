"""Reads a trace without any package, on whatever Python this is: ``reading.py TRACE TRUTH``, TRUTH in JSON."""

import io
import json
import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

import gpuprof

TRACE, TRUTH = sys.argv[1], json.loads(sys.argv[2])


class Reading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.trace = gpuprof.open(TRACE)

    def test_what_is_in_a_trace(self):
        self.assertEqual(self.trace.tables["kernel"], TRUTH["kernels"])
        self.assertEqual([file["Path"] for file in self.trace.files], [TRACE])
        self.assertEqual(len(self.trace.processes), 1)
        self.assertEqual([device["Device"] for device in self.trace.devices], [0, 1])
        self.assertIn(f"{TRUTH['kernels']:,} rows of kernel", repr(self.trace))

    def test_several_paths_are_one_trace_of_several_processes(self):
        both = gpuprof.open([Path(TRACE), TRACE.replace("run", "other")])
        self.assertEqual(both.tables["kernel"], 2 * TRUTH["kernels"])
        self.assertEqual(len(both.processes), 2)

    def test_a_table_has_the_columns_that_were_asked_for(self):
        for name in ("kernel", "kernels", "KERNEL"):
            table = self.trace.table(name, columns=["duration_ns", "name"])
            self.assertEqual((len(table), table.columns), (TRUTH["kernels"], ["duration_ns", "name"]))
            self.assertEqual(sum(row["duration_ns"] for row in table), TRUTH["kernel_ns"])
        everything = self.trace.table("memcpy", where="bytes > 0")
        self.assertIn("src_kind_name", everything.columns)
        self.assertEqual(sum(row["bytes"] for row in everything.rows()), TRUTH["copied_bytes"])

    def test_sql_is_answered_with_and_without_rows(self):
        rows = self.trace.sql("SELECT COUNT(*) AS n, SUM(duration_ns) AS ns FROM kernel").rows()
        self.assertEqual(rows, [{"n": TRUTH["kernels"], "ns": TRUTH["kernel_ns"]}])
        self.assertEqual(len(self.trace.sql("SELECT name FROM kernel WHERE start_ns < 0")), 0)

    def test_views_and_insights(self):
        view = self.trace.view("cuda_gpu_kern_sum")
        self.assertEqual(view.title, "CUDA GPU Kernel Summary")
        self.assertEqual(sum(row["Instances"] for row in view), TRUTH["kernels"])
        chosen = self.trace.view("cuda_gpu_kern_sum", filters=["device=0"])
        self.assertLess(sum(row["Instances"] for row in chosen), TRUTH["kernels"])
        self.assertEqual(len(self.trace.view("cuda_gpu_kern_sum", from_time="1000s", to_time="1001s")), 0)
        self.assertIn("Advice", self.trace.insights().columns + ["Advice"])

    def test_errors_are_the_program_s_and_say_what_there_is(self):
        for what, words in (
            (lambda: gpuprof.open("/nowhere/x.gpuprof"), "/nowhere/x.gpuprof: no such file"),
            (lambda: gpuprof.open([]), "no trace was named"),
            (lambda: self.trace.sql("SELECT nothing FROM kernel"), "kernel has process, start_ns"),
            (lambda: self.trace.table("nothings"), "nothings"),
            (lambda: self.trace.table("kernel", columns=['a"b']), 'a"b'),
            (lambda: self.trace.view("nothing"), "known are cuda_gpu_kern_sum"),
            (lambda: self.trace.sql("DELETE FROM kernel"), "DELETE"),
        ):
            with self.assertRaises(gpuprof.Error) as raised:
                what()
            self.assertIn(words, str(raised.exception))
            self.assertFalse(str(raised.exception).startswith("gpuprof:"))

    def test_packages_that_are_missing_are_named(self):
        table = self.trace.table("kernel", columns=["name"])
        view = self.trace.view("cuda_gpu_kern_sum")
        for made, package in (
            (table.to_polars, "polars"),
            (table.to_arrow, "pyarrow"),
            (table.to_pandas, "pandas"),
            (view.to_polars, "polars"),
            (table.__arrow_c_stream__, "pyarrow"),
        ):
            # Also where they are there.
            hidden = {"polars": None, "pyarrow": None, "pyarrow.ipc": None, "pandas": None}
            with mock.patch.dict(sys.modules, hidden), mock.patch("importlib.util.find_spec", return_value=None):
                with self.assertRaises(gpuprof.MissingPackage) as raised:
                    made()
            self.assertIn(f"pip install {package}", str(raised.exception))
            self.assertIsInstance(raised.exception, ImportError)

    def test_what_is_partial_is_a_warning_where_the_caller_stands(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = gpuprof.open(TRACE.replace("run", "cut")).sql("SELECT COUNT(*) AS n FROM kernel")
        partial = [warning for warning in caught if warning.category is gpuprof.PartialTrace]
        self.assertTrue(partial, caught)
        self.assertEqual(Path(partial[0].filename).name, "reading.py")
        self.assertIn(str(partial[0].message), table.notes)

    def test_a_notebook_shows_a_picture_a_summary_and_the_page(self):
        html = self.trace._repr_html_()
        self.assertIn("data:image/svg+xml;base64,", html)
        self.assertIn("saxpy(int, float, float*, float*)", html)
        self.assertIn(f"{TRUTH['kernels']:,} rows of kernel", html)
        page = self.trace.timeline(height=321)
        self.assertTrue(page.html.startswith("<!"), page.html[:40])
        self.assertIn("height:321px", page._repr_html_())
        # Inside an attribute no quote may end it, and no tag may begin.
        inside = page._repr_html_()[len('<iframe srcdoc="') :].split('"')[0]
        self.assertGreater(len(inside), len(page.html))
        saved = page.save(Path(TRACE).parent / f"page-{os.getpid()}.html")
        self.assertEqual(saved.read_text(encoding="utf-8"), page.html)
        many = self.trace.table("kernel")._repr_html_()
        self.assertIn(f"and {TRUTH['kernels'] - 20:,} more rows", many)

    def test_the_program_is_the_one_that_was_named(self):
        self.assertEqual(gpuprof.program(), os.environ["GPUPROF_PROGRAM"])
        with mock.patch.dict(os.environ, GPUPROF_PROGRAM="/nowhere/gpuprof"):
            with self.assertRaises(gpuprof.Error) as raised:
                gpuprof.open(TRACE)
            self.assertIn("GPUPROF_PROGRAM: /nowhere/gpuprof", str(raised.exception))
        beside = Path(TRACE).parent / "bin"
        with mock.patch.dict(os.environ, PATH=str(beside)):
            del os.environ["GPUPROF_PROGRAM"]
            self.assertEqual(gpuprof.program(), str(beside / "gpuprof"))
            os.environ["PATH"] = ""
            with self.assertRaises(gpuprof.Error) as raised:
                gpuprof.program()
            self.assertIn("not found", str(raised.exception))

    def test_nothing_is_left_behind(self):
        names = []

        def named(*arguments, **options):
            made = mkstemp(*arguments, **options)
            names.append(made[1])
            return made

        mkstemp = tempfile.mkstemp
        with mock.patch("tempfile.mkstemp", named):
            table = self.trace.table("kernel")
            with self.assertRaises(gpuprof.Error):
                self.trace.sql("SELECT nothing FROM kernel")
        self.assertEqual(len(names), 2)
        self.assertEqual([name for name in names if os.path.exists(name)], [])
        self.assertEqual(len(table.rows()), TRUTH["kernels"])


if __name__ == "__main__":
    # The standard output is for nothing else, so that a failure shows whole.
    stream = io.StringIO()
    result = unittest.main(argv=sys.argv[:1], exit=False, testRunner=unittest.TextTestRunner(stream)).result
    print(stream.getvalue())
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
