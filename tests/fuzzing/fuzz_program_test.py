"""mhcheck fuzz from outside: what it finds, saves, repeats, and what survives a kill."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MHCHECK = None  # the executable, the script's first argument
BUILD = None  # the folder of the build, which holds the code objects of the tests


def start(*arguments):
    return subprocess.Popen([MHCHECK, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def mhcheck(*arguments, expect=0):
    done = subprocess.run([MHCHECK, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == expect, (
        f"mhcheck {' '.join(arguments)}: exit {done.returncode}, expected {expect}\n{done.stdout}\n{done.stderr}")
    return done


def without_times(node):
    if isinstance(node, dict):
        return {key: without_times(value) for key, value in node.items() if "seconds" not in key}
    if isinstance(node, list):
        return [without_times(value) for value in node]
    return node


class Folder(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def json(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def write_json(self, name, content):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(content, file)
        return self.path(name)

    def fuzz(self, *arguments, expect=0):
        return mhcheck("fuzz", "--failures", self.path("failures"), *arguments, expect=expect)


class CorrectKernels(Folder):
    def test_the_host_baseline_conforms_and_the_report_says_what_was_reached(self):
        done = self.fuzz("--cases", "150", "--seed", "4", "--json", self.path("r.json"))
        self.assertEqual(done.stderr, "")  # no progress line where there is no terminal
        self.assertRegex(done.stdout, r"kernel +operator +cases +passed +failed +refused +bound units")
        self.assertRegex(done.stdout, r"regime +gauss [0-9.]+ %, massive [0-9.]+ %")
        self.assertRegex(done.stdout, r"laws tried +batch_invariance [0-9]+, ")
        self.assertFalse(os.path.exists(self.path("failures")))

        report = self.json("r.json")
        self.assertEqual(report["total"]["cases"], 150)
        self.assertEqual(report["total"]["passed"], 150)
        self.assertEqual(report["failures"], [])
        self.assertEqual(report["options"]["seed"], 4)
        self.assertEqual(sum(report["classes"]["dtype"].values()), 150)
        self.assertEqual(sum(report["classes"]["regime"].values()), 150)
        self.assertGreater(report["laws"]["repeatability"], 100)
        self.assertEqual(sum(row["cases"] for row in report["table"]), 150)

    def test_what_is_never_reached_is_said(self):
        done = self.fuzz("--cases", "3", "--op", "mhc_post", "--dtype", "fp16")
        missed = done.stdout[done.stdout.index("never reached"):]
        self.assertRegex(missed, r"dtype +bf16\n")
        self.assertRegex(missed, r"operator +mhc_pre, ")
        self.assertNotIn("rms_eps", done.stdout)  # no case of mhc_post has one

    def test_the_same_seed_gives_the_same_report_at_any_number_of_workers(self):
        reports = []
        for jobs in ("1", "3"):
            self.fuzz("--cases", "60", "--jobs", jobs, "--json", self.path("r.json"))
            reports.append(without_times(self.json("r.json")))
        self.assertEqual(reports[0], reports[1])
        self.fuzz("--cases", "60", "--seed", "2", "--json", self.path("r.json"))
        self.assertNotEqual(without_times(self.json("r.json"))["table"], reports[0]["table"])

    def test_our_kernels_on_the_simulator_conform(self):
        done = self.fuzz("--cases", "40", "--device", "sim", "--sanitize", "all")
        self.assertRegex(done.stdout, r"(?m)^total +40 +40 +0 +0 ")

    def test_time_ends_it(self):
        begin = time.monotonic()
        self.fuzz("--time", "2s", "--op", "hc_expand")
        self.assertGreater(time.monotonic() - begin, 1.9)


def drop_a_stream(entry):
    for launch in entry["launches"]:
        launch["kernel"] = launch["kernel"].replace("post_correct", "post_residual_stream_dropped")


class BrokenKernels(Folder):
    def manifest(self, operator, change):
        with open(os.path.join(BUILD, "kernels/mutants/base.json"), encoding="utf-8") as file:
            base = json.load(file)
        entry = base["operators"][operator]
        change(entry)
        return self.write_json("broken.json", {"name": "broken", "target": "gfx950", "operators": {operator: entry}})

    def test_a_mutant_is_found_shrunk_saved_and_repeated(self):
        kernel = ["--device", "sim", "--manifest", self.manifest("mhc_post", drop_a_stream), "--code-object",
                  os.path.join(BUILD, "kernels/mutants/mutants.hsaco")]
        done = self.fuzz("--cases", "60", "--op", "mhc_post", "--stop-after", "2", "--json", self.path("r.json"), *kernel,
                         expect=1)
        self.assertIn("ended at 2 failures", done.stderr)
        report = self.json("r.json")
        self.assertEqual(len(report["failures"]), 2)
        for failure in report["failures"]:
            self.assertEqual(failure["kind"], "outside_deterministic")
            self.assertRegex(failure["simplest"], r"^mhc_post:bf16:t1:n4:h[0-9]+$")

        # Each way to repeat it that was printed does so, with the failure's exit code.
        saved = re.findall(r"(?m)^  saved: mhcheck (.*)$", done.stdout)
        repeats = re.findall(r"(?m)^  repeat: mhcheck (.*)$", done.stdout)
        self.assertEqual(len(saved), 2)
        self.assertEqual(len(repeats), 2)
        for command in saved + repeats:
            again = mhcheck(*shlex.split(command), expect=1)
            self.assertIn("outside_deterministic", again.stdout)
        self.assertIn("saved as   outside_deterministic", mhcheck(*shlex.split(saved[0]), expect=1).stdout)
        file = shlex.split(saved[0])[1]
        self.assertTrue(mhcheck("repro", "--canonical", file).stdout.startswith(report["failures"][0]["simplest"][:14]))

        # What such a file must not have is said in one line.
        refused = mhcheck("repro", file, "--device", "sim", expect=2)
        self.assertIn("leave out the options", refused.stderr)
        with open(file, encoding="utf-8") as text:
            content = json.load(text)
        for change, message in [({"descriptor": "nothing"}, '"descriptor": descriptor, character 1'),
                                ({"kernel": "other"}, "is called 'other'"),
                                ({"options": {"device": "moon"}}, "no device is called 'moon'"),
                                ({"options": {"devise": "sim"}}, "unknown field 'devise'"),
                                ({"options": {"device": 3}}, "the option device is a JSON number"),
                                ({"options": []}, "must be an object")]:
            bad = mhcheck("repro", self.write_json("bad.json", {**content, **change}), expect=2)
            self.assertIn(message, bad.stderr)
            self.assertEqual(bad.stderr.count("\n"), 1)
        self.assertIn("cannot be opened", mhcheck("repro", "no/such.json", expect=2).stderr)

    def test_a_failure_that_cannot_be_saved_is_still_told(self):
        # What no check of permissions foresees: nothing can be made there, not even by root.
        done = mhcheck("fuzz", "--failures", "/proc/failures", "--cases", "5", "--laws", "none", "--stop-after", "1",
                       "--device", "sim", "--manifest", self.manifest("mhc_post", drop_a_stream), "--code-object",
                       os.path.join(BUILD, "kernels/mutants/mutants.hsaco"), expect=1)
        self.assertIn("outside_deterministic", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^  repeat: mhcheck repro ")
        self.assertRegex(done.stdout, r"(?m)^  saved: no, /proc/failures/.*: cannot be created: ")

    def test_a_kernel_that_never_ends_is_a_failure_and_not_the_end(self):
        # It waits until the first word of x is not zero: for ever in some regimes. Else it leaves its output unwritten.
        manifest = self.write_json("endless.json", {
            "name": "endless", "target": "gfx950", "operators": {"hc_expand": {"launches": [
                {"kernel": "never_ends", "when": "num_tokens > 0", "grid": ["1"], "block": [64],
                 "args": ["in.x"]}]}}})
        done = self.fuzz("--cases", "20", "--op", "hc_expand", "--device", "sim", "--manifest", manifest, "--code-object",
                         os.path.join(BUILD, "tests/runtime/probe_O3.hsaco"), "--stop-after", "0", "--case-time", "1s",
                         "--laws", "none", "--json", self.path("r.json"), expect=1)
        kinds = {failure["kind"] for failure in self.json("r.json")["failures"]}
        self.assertEqual(kinds, {"hung", "unwritten"})
        for failure in self.json("r.json")["failures"]:
            self.assertEqual("in=" in failure["simplest"], failure["kind"] == "hung", failure["simplest"])
        self.assertIn("hung: not done within the time", done.stdout)
        self.assertEqual(self.json("r.json")["total"]["cases"], 20)


class Killed(Folder):
    CAMPAIGN = ["--cases", "400", "--seed", "9", "--jobs", "2"]

    def lines(self, name):
        try:
            with open(self.path(name), "rb") as file:
                return file.read().count(b"\n")
        except FileNotFoundError:
            return 0

    def started(self, *arguments):
        campaign = start("fuzz", "--failures", self.path("failures"), *self.CAMPAIGN, "--journal", self.path("j"),
                         *arguments)
        self.addCleanup(campaign.wait)
        self.addCleanup(campaign.kill)
        begin = time.monotonic()
        while self.lines("j") < 30:
            self.assertIsNone(campaign.poll(), "the campaign ended before it could be killed")
            self.assertLess(time.monotonic() - begin, 120)
            time.sleep(0.02)
        return campaign

    def test_a_killed_campaign_goes_on_and_ends_as_an_unbroken_one(self):
        self.fuzz(*self.CAMPAIGN, "--json", self.path("unbroken.json"))
        campaign = self.started()
        campaign.kill()
        campaign.communicate()
        done_before = self.lines("j") - 1
        self.assertLess(done_before, 400)
        self.fuzz(*self.CAMPAIGN, "--journal", self.path("j"), "--json", self.path("resumed.json"))
        self.assertEqual(self.lines("j"), 1 + 400)
        self.assertEqual(without_times(self.json("resumed.json")), without_times(self.json("unbroken.json")))

        other = self.fuzz("--cases", "400", "--seed", "10", "--journal", self.path("j"), expect=2)
        self.assertIn("its seed is 9, this one's is 10", other.stderr)

    def test_ctrl_c_ends_it_with_what_it_has(self):
        campaign = self.started("--json", self.path("r.json"))
        campaign.send_signal(signal.SIGINT)
        out, err = campaign.communicate(timeout=60)
        self.assertEqual(campaign.returncode, 2)
        self.assertRegex(err, r"^mhcheck: stopped early, after [0-9]+ cases\n$")
        self.assertRegex(out, r"(?m)^total ")
        self.assertTrue(self.json("r.json")["options"]["stopped_early"])


class Usage(Folder):
    def refused(self, *arguments):
        done = self.fuzz(*arguments, expect=2)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_bad_options_are_refused_in_one_line(self):
        for arguments, message in [
                ([], "needs one of --time and --cases"),
                (["--cases", "5", "--time", "5s"], "needs one of --time and --cases"),
                (["--cases", "0"], "--cases: Value 0 not in range 1 to 18446744073709551615"),
                (["--time", "soon"], "--time: 'soon' is no time"),
                (["--time", "-3s"], "--time: '-3s' is no time"),
                (["--time", "0"], "--time: '0' is no time"),
                (["--time", "9999h"], "--time: '9999h' is no time"),
                (["--cases", "5", "--case-time", "x"], "--case-time: 'x' is no time"),
                (["--cases", "5", "--seed", "x"], "--seed: 'x'"),
                (["--cases", "5", "--op", "nothing"], "--op: no operator is called 'nothing'"),
                (["--cases", "5", "--dtype", "fp32"], "--dtype: 'fp32' is not bf16 or fp16"),
                (["--cases", "5", "--device", "moon"], "no device is called 'moon'"),
                (["--cases", "5", "--sanitize", "race"], "say --device sim"),
                (["--cases", "5", "--laws", "gravity"], "--laws"),
                (["--cases", "5", "--journal", ""], "the value is empty"),
                (["--cases", "5", "--json", "/no/such/folder/r.json"], "/no/such/folder/r.json"),
                (["--cases", "5", "--journal", "/no/such/folder/j"], "/no/such/folder/j: cannot be opened")]:
            self.assertIn(message, self.refused(*arguments))

    def test_a_folder_that_cannot_take_failures_is_refused_at_once(self):
        with open(self.path("failures"), "w", encoding="utf-8") as file:
            file.write("a file")
        self.assertIn("is there and is no folder", self.refused("--cases", "5"))

    def test_kernels_that_cannot_be_opened_are_refused_in_one_line(self):
        manifest = self.write_json("m.json", {"name": "m", "target": "gfx950", "operators": {
            "sinkhorn": {"launches": [{"kernel": "k", "grid": ["1"], "block": [64], "args": []}]}}})
        self.assertIn("missing.hsaco", self.refused("--cases", "5", "--device", "sim", "--manifest", manifest,
                                                    "--code-object", self.path("missing.hsaco"), "--op", "sinkhorn"))


if __name__ == "__main__":
    MHCHECK, BUILD = sys.argv[1], sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
