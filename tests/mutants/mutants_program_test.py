"""mhcheck mutants from outside: exit codes, reports, messages."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

MHCHECK = None  # the executable, the script's only argument

QUICK = "missing_barrier_last_wave_adds,fn_rounded_to_bf16"


def mhcheck(*arguments, expect=0):
    done = subprocess.run([MHCHECK, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == expect, (
        f"mhcheck {' '.join(arguments)}: exit {done.returncode}, expected {expect}\n{done.stdout}\n{done.stderr}")
    return done


class Folder(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()


class Mutants(Folder):
    def test_named_mutants_are_killed_and_reported_in_every_form(self):
        done = mhcheck("mutants", "--mutant", QUICK, "--json", self.path("m.json"), "--html", self.path("m.html"),
                       "--markdown", self.path("m.md"))
        self.assertRegex(done.stdout, r"mutant +operator +verdict +fault +memory +membership +bias +sanitizer +schedule "
                                      r"+law +first found +usual recipe")
        self.assertRegex(done.stdout, r"(?m)^2 of 2 mutants killed; the usual recipe .* catches 0 of them$")
        self.assertIn("promised      schedule", done.stdout)
        self.assertEqual(done.stderr, "")

        report = json.loads(self.read("m.json"))
        self.assertEqual(report["score"], {"mutants": 2, "killed": 2, "usual_recipe": 0})
        race, rounded = report["mutants"]
        self.assertEqual([race["name"], rounded["name"]], QUICK.split(","))
        self.assertEqual(race["checks"], {"fault": False, "memory": False, "membership": False, "bias": False,
                                          "sanitizer": True, "schedule": True, "law": False})
        self.assertTrue(rounded["checks"]["membership"])
        self.assertTrue(rounded["case"].startswith("mhc_pre:"))
        self.assertEqual(self.read("m.html").count("<tr>"), 1 + 2)
        self.assertEqual(len(re.findall(r"(?m)^\| `", self.read("m.md"))), 2)

    def test_results_are_the_same_for_any_number_of_threads(self):
        reports = []
        for jobs in ("1", "3"):
            mhcheck("mutants", "--mutant", QUICK, "--jobs", jobs, "--quiet", "--json", self.path("m.json"))
            report = json.loads(self.read("m.json"))
            for mutant in report["mutants"]:
                del mutant["seconds"]
            reports.append(report)
        self.assertEqual(reports[0], reports[1])

    def test_quiet_says_nothing_when_all_are_killed(self):
        self.assertEqual(mhcheck("mutants", "--mutant", "fn_rounded_to_bf16", "--quiet").stdout, "")

    def test_an_unknown_mutant_is_refused_in_one_line(self):
        done = mhcheck("mutants", "--mutant", "cat", expect=2)
        self.assertEqual(done.stderr, "mhcheck: --mutant: no mutant is called 'cat'; see mhcheck list mutants\n")

    def test_a_report_that_cannot_be_written_ends_the_program_before_the_work(self):
        done = mhcheck("mutants", "--json", self.path("nowhere/m.json"), expect=2)
        self.assertRegex(done.stderr, r"\Amhcheck: [^\n]*nowhere/m.json[^\n]*\n\Z")
        self.assertEqual(done.stdout, "")

    def test_two_reports_in_one_file_and_empty_paths_are_refused_in_one_line(self):
        both = self.path("both")
        done = mhcheck("mutants", "--json", both, "--html", both, expect=2)
        self.assertRegex(done.stderr, r"\Amhcheck: two reports are to be written to [^\n]*\n\Z")
        done = mhcheck("mutants", "--json", "", expect=2)
        self.assertRegex(done.stderr, r"\Amhcheck: [^\n]*--json[^\n]*empty[^\n]*\n\Z")

    def test_list_shows_every_mutant_with_what_is_broken(self):
        lines = mhcheck("list", "mutants").stdout.splitlines()
        self.assertGreaterEqual(len(lines), 50)
        for line in lines:
            self.assertRegex(line, r"^\w+ {2,}\S")


class Zoo(Folder):
    def test_every_mutant_is_caught_and_the_document_says_by_what(self):
        mhcheck("mutants", "--markdown", self.path("m.md"))
        document = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "mutants.md")
        with open(document, encoding="utf-8") as file:
            self.assertIn(self.read("m.md"), file.read(), "put the table that --markdown writes into docs/mutants.md")


if __name__ == "__main__":
    MHCHECK = sys.argv.pop()
    unittest.main()
