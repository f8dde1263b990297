"""The program from outside: exit codes, messages, reports, reproducibility."""

import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

MHCHECK = None  # the executable, the script's only argument
OWN_MANIFEST = None  # beside its code object, where the build puts both

SMALL_RUN = ["run", "--hidden", "96,129", "--tokens", "0,3,40"]
CASE = "mhc_pre:fp16:t5:n4:h64:norm=bf16:seed=3"


def mhcheck(*arguments, expect=0):
    done = subprocess.run([MHCHECK, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == expect, (
        f"mhcheck {' '.join(arguments)}: exit {done.returncode}, expected {expect}\n{done.stdout}\n{done.stderr}")
    return done


class Safetensors:
    """A safetensors file as a dictionary of byte strings, to be changed and written back."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        self.metadata = header.pop("__metadata__", {})
        self.tensors = {
            name: (t["dtype"], t["shape"], bytearray(data[8 + length + t["data_offsets"][0]:
                                                          8 + length + t["data_offsets"][1]]))
            for name, t in header.items()
        }

    def write(self, path):
        header, body = {}, b""
        if self.metadata:
            header["__metadata__"] = self.metadata
        # Wide elements first, so that every tensor is aligned.
        for name, (dtype, shape, data) in sorted(self.tensors.items(), key=lambda t: t[1][0] != "F32"):
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
            body += data
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + body)


def without_times(node):
    if isinstance(node, dict):
        return {key: without_times(value) for key, value in node.items() if "seconds" not in key}
    if isinstance(node, list):
        return [without_times(value) for value in node]
    return node


class TemporaryFolder(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def path(self, name):
        return os.path.join(self._folder.name, name)

    def read_json(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)


class Run(TemporaryFolder):
    def test_a_small_run_conforms_and_reports_in_every_form(self):
        done = mhcheck(*SMALL_RUN, "--json", self.path("r.json"), "--junit", self.path("r.xml"), "--html",
                       self.path("r.html"))
        self.assertEqual(done.stderr, "")  # no progress line where there is no terminal
        self.assertRegex(done.stdout, r"kernel +operator +cases +passed +failed +refused +bound units")
        self.assertIn("covered: 13 of 13 operators", done.stdout)

        report = self.read_json("r.json")
        self.assertEqual(report["program"], "mhcheck")
        self.assertEqual(report["total"]["cases"], 13 * 2 * 2 * 3)
        self.assertEqual(report["total"]["passed"], report["total"]["cases"])
        self.assertEqual(len(report["cases"]), report["total"]["cases"])
        self.assertEqual(sum(row["cases"] for row in report["table"]), report["total"]["cases"])
        self.assertEqual(sum(report["total"]["certification"].values()),
                         sum(sum(c["certification"].values()) for c in report["cases"]))
        self.assertEqual({c["operator"] for c in report["cases"]}, {row["operator"] for row in report["table"]})
        for case in report["cases"]:
            self.assertEqual(case["status"], "passed")
            self.assertTrue(case["outputs"])
            for output in case["outputs"]:
                self.assertEqual(output["findings"], [])
                if output["worst"]:
                    self.assertLessEqual(output["worst"]["bound_units"], 1)

        suites = ElementTree.parse(self.path("r.xml")).getroot()
        self.assertEqual(suites.tag, "testsuites")
        self.assertEqual(int(suites.get("tests")), report["total"]["cases"])
        self.assertEqual(len(suites.findall("./testsuite/testcase")), report["total"]["cases"])
        self.assertEqual({t.get("name") for t in suites.iter("testcase")},
                         {c["descriptor"] for c in report["cases"]})

        with open(self.path("r.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("156 of 156 cases conform", page)
        self.assertIn("<svg", page)
        self.assertNotRegex(page, r"(src|href)=")  # nothing from outside

    def test_the_same_seed_gives_the_same_report_at_any_number_of_threads(self):
        reports = []
        for jobs in ("1", "2", "2"):
            mhcheck(*SMALL_RUN, "--jobs", jobs, "--seed", "5", "--json", self.path("r.json"))
            reports.append(json.dumps(without_times(self.read_json("r.json"))))
        self.assertEqual(reports[0], reports[1])
        self.assertEqual(reports[1], reports[2])
        mhcheck(*SMALL_RUN, "--seed", "6", "--json", self.path("r.json"))
        self.assertNotEqual(reports[0], json.dumps(without_times(self.read_json("r.json"))))

    def test_a_named_kernel_runs_every_case(self):
        mhcheck("run", "--kernel", "host,host_fp32", "--op", "mhc_pre", "--hidden", "64", "--tokens", "3", "--json",
                self.path("r.json"))
        report = self.read_json("r.json")
        self.assertEqual([c["kernel"] for c in report["cases"]], ["host", "host", "host_fp32", "host_fp32"])

    def test_shards_partition_a_run(self):
        descriptors = []
        for shard in ("1/3", "2/3", "3/3"):
            mhcheck(*SMALL_RUN, "--shard", shard, "--json", self.path("r.json"))
            descriptors += [c["descriptor"] for c in self.read_json("r.json")["cases"]]
        mhcheck(*SMALL_RUN, "--json", self.path("r.json"))
        self.assertEqual(sorted(descriptors), sorted(c["descriptor"] for c in self.read_json("r.json")["cases"]))

    def test_quiet_prints_nothing_where_everything_conforms(self):
        self.assertEqual(mhcheck("run", "--quiet", "--op", "hc_expand", "--hidden", "8").stdout, "")


class ReportTargets(TemporaryFolder):
    def test_a_link_stays_a_link_and_its_target_gets_the_report(self):
        with open(self.path("target.json"), "w") as file:
            file.write("old")
        os.symlink(self.path("target.json"), self.path("link.json"))
        mhcheck("run", "--op", "hc_expand", "--tokens", "1", "--hidden", "64", "--json", self.path("link.json"))
        self.assertTrue(os.path.islink(self.path("link.json")))
        with open(self.path("target.json")) as file:
            json.load(file)

    def test_a_pipe_is_not_replaced(self):
        os.mkfifo(self.path("pipe"))
        mhcheck("run", "--op", "hc_expand", "--tokens", "1", "--hidden", "64", "--json", self.path("pipe"), expect=2)
        self.assertFalse(os.path.isfile(self.path("pipe")))


class BadUsage(TemporaryFolder):
    def test_one_line_and_exit_code_2(self):
        with open(OWN_MANIFEST, encoding="utf-8") as file:
            manifest = json.load(file)
        manifest["code_object"] = Simulator.code_object()
        manifest["operators"] = {op: manifest["operators"][op] for op in ("mhc_pre", "mhc_post")}
        with open(self.path("two.json"), "w", encoding="utf-8") as file:
            json.dump(manifest, file)
        for arguments, message in [
            ([], "mhcheck needs a command: run, golden, check, repro, inspect, fuzz, mutants, list"),
            (["golden"], "golden needs a command: make, verify, list"),
            (["frobnicate"], "frobnicate"),
            (["run", "--bogus"], "--bogus"),
            (["run", "--op", "mhc_pre,foo"], "--op: no operator is called 'foo', there are mhc_pre,"),
            (["run", "--hidden", "0"], "--hidden: '0' is out of range"),
            (["run", "--hidden", "512:1024"], "--hidden: '512:1024' is neither a number nor FIRST:LAST:STEP"),
            (["run", "--hidden", "512:64:8"], "FIRST <= LAST"),
            (["run", "--hidden", "1,,2"], "--hidden: ''"),
            (["run", "--tokens", "-1"], "--tokens: '-1'"),
            (["run", "--dtype", "fp32"], "--dtype: 'fp32' is not bf16 or fp16"),
            (["run", "--profile", "mega"], "no profile is called 'mega', there are smoke, merge, nightly"),
            (["run", "--seed", "-1"], "--seed: '-1'"),
            (["run", "--jobs", "0"], "--jobs"),
            (["run", "--shard", "4/3"], "--shard: '4/3' is not K/N"),
            (["run", "--shard", "1000/1000", "--op", "rmsnorm"], "the options choose no case"),
            (["run", "--device", "abacus"], "no device is called 'abacus'"),
            (["run", "--kernel", "warp9"], "no kernel of device host is called 'warp9', there are host,"),
            (["run", "--json", self.path("missing/r.json"), "--op", "hc_expand"], "missing/r.json"),
            (["run", "--op", ""], "--op"),
            (["run", "--hidden", ""], "--hidden"),
            (["run", "--json", ""], "--json"),
            (["run", "--json", self.path("r"), "--junit", self.path("r"), "--op", "hc_expand"], "its own file"),
            (["run", "--json", self._folder.name, "--op", "hc_expand"], "no regular file"),
            (["repro", "mhc_pre:bf16"], "descriptor"),
            (["repro", "mhc_pre:bf16:t3:n9:h64:seed=1"], "hc_mult is 9, must be 1 to 8"),
            (["repro", "mhc_pre:bf16:t3:n4:h64:in=nope:seed=1"], "nope"),
            (["repro", "mhc_pre:bf16:t3:n4:h64:norm=bf16:collapse=fp32:seed=1", "--kernel", "host"],
             "does not round as the case is judged"),
            (["repro", "mhc_pre:bf16:t2000000:n8:h2000000:seed=1"], "GiB of memory"),
            (["check", self.path("missing.safetensors")], "missing.safetensors"),
            (["check", self.path("x"), "--golden", self.path("y")], "--case"),
            (["golden", "verify", self.path("missing")], "missing"),
            (["golden", "list", self.path("missing")], "missing"),
            (["golden", "make", self.path("g"), "mhc_pre:bf16"], "descriptor"),
            (["list", "planets"], "planets"),
            (["inspect", self.path("missing.hsaco")], "missing.hsaco"),
            (["inspect", __file__], "program_test.py"),
            (["repro", "mhc_pre:bf16:t1:n4:h64:norm=bf16:collapse=fp32:seed=1", "--device", "sim"],
             "no kernel of device sim"),
            (["run", "--code-object", "x.co"], "--code-object needs --manifest"),
            (["run", "--variant", "all"], "--variant needs --manifest"),
            (["run", "--schedule-seed", "3"], "--schedule-seed: device host schedules its waves itself"),
            (["run", "--schedule-seed", "-3", "--device", "sim"], "--schedule-seed"),
            (["run", "--sanitize", "race"], "--sanitize: only the simulator can do this, say --device sim"),
            (["run", "--schedules", "2"], "--schedules: only the simulator can do this, say --device sim"),
            (["run", "--sanitize", "races", "--device", "sim"], "no sanitizer is called 'races', there are all, none, "),
            (["run", "--schedules", "few", "--device", "sim"], "--schedules"),
            (["run", "--laws", "gravity"], "--laws: no law is called 'gravity', there are all, none, token_permutation, "),
            (["repro", "hc_expand:bf16:t1:n4:h64:seed=1", "--laws", ""], "--laws: no law is called ''"),
            (["run", "--manifest", OWN_MANIFEST], "--manifest: device host runs no code objects"),
            (["run", "--manifest", OWN_MANIFEST, "--device", "sim", "--kernel", "mhc"],
             "--kernel and --manifest exclude each other"),
            (["run", "--manifest", OWN_MANIFEST, "--device", "sim", "--variant", "fast"],
             "no variant 'fast', there are fp32, fp32_tile16, "),
            (["run", "--manifest", self.path("two.json"), "--device", "sim", "--op", "mhc_post,hc_head"],
             "--op: hc_head is not implemented by mhc, only mhc_pre, mhc_post"),
            (["run", "--manifest", OWN_MANIFEST, "--device", "sim", "--code-object", self.path("missing.co")],
             "missing.co"),
            (["run", "--manifest", OWN_MANIFEST, "--device", "sim", "--code-object", __file__], "program_test.py"),
            (["run", "--manifest", self.path("missing.json"), "--device", "sim"], "missing.json"),
            (["repro", "mhc_post:bf16:t1:n4:h64:seed=1", "--manifest", OWN_MANIFEST, "--device", "sim", "--variant",
              "all"], "repro runs one kernel, name one of mhc/fp32, mhc/fp32_tile16, "),
            (["repro", "mhc_post:bf16:t1:n3:h64:seed=1", "--manifest", OWN_MANIFEST, "--device", "sim"],
             "refused: mhc_post:bf16:t1:n3:h64: the kernels have 4 streams (hc_mult == 4)"),
        ]:
            with self.subTest(arguments=arguments):
                done = mhcheck(*arguments, expect=2)
                self.assertEqual(done.stdout, "")
                self.assertRegex(done.stderr, r"\Amhcheck: [^\n]+\n\Z")
                self.assertIn(message, done.stderr)

    def test_help_and_version_are_no_errors(self):
        self.assertRegex(mhcheck("--version").stdout, r"^\d+\.\d+\.\d+")
        self.assertIn("Exit code", mhcheck("--help").stdout)
        for command in ("run", "golden", "check", "repro", "list"):
            self.assertIn("--help", mhcheck(command, "--help").stdout)


class List(unittest.TestCase):
    def test_lists(self):
        self.assertEqual(len(mhcheck("list", "operators").stdout.splitlines()), 13)
        for what, entry in [("operators", "mhc_fused_post_pre_gemm_sqrsum"), ("kernels", "host_tf32"),
                            ("properties", "token_permutation"), ("regimes", "massive"), ("devices", "host"), ("devices", "sim"), ("devices", "cuda"),
                            ("profiles", "merge")]:
            self.assertRegex(mhcheck("list", what).stdout, rf"(?m)^{entry} +\S")


class Simulator(TemporaryFolder):
    @staticmethod
    def code_object():
        return os.path.join(os.path.dirname(MHCHECK), "kernels", "hip", "mhc.hsaco")

    def test_inspect_shows_the_kernels_of_a_code_object(self):
        text = mhcheck("inspect", self.code_object()).stdout
        self.assertIn("gfx950", text)
        self.assertIn("mhc_post_bf16", text)

    def test_inspect_refuses_a_damaged_code_object_in_one_line(self):
        with open(self.code_object(), "rb") as file:
            whole = file.read()
        with open(self.path("half.hsaco"), "wb") as file:
            file.write(whole[: len(whole) // 2])
        self.assertRegex(mhcheck("inspect", self.path("half.hsaco"), expect=2).stderr, r"\Amhcheck: [^\n]+\n\Z")

    def test_our_kernels_conform_as_machine_code(self):
        mhcheck("run", "--device", "sim", "--op", "mhc_pre,mhc_post", "--hidden", "512", "--tokens", "0,3",
                "--json", self.path("r.json"))
        with open(self.path("r.json")) as file:
            cases = json.load(file)["cases"]
        judged = [case for case in cases if case["status"] == "passed"]
        self.assertEqual({case["descriptor"].split(":")[0] for case in judged}, {"mhc_pre", "mhc_post"})
        self.assertTrue(all(case["status"] in ("passed", "refused") for case in cases))
        for case in judged:
            self.assertEqual(len(case["per_launch"]), case["launches"])
            for launch in case["per_launch"]:
                counters = launch["counters"]
                classes = ("salu", "smem", "valu", "mfma", "vmem", "lds", "branch", "other")
                self.assertEqual(counters["instructions"], sum(counters[name] for name in classes))
                for name in ("memory_bytes_read", "memory_bytes_written", "cache_lines", "waves"):
                    self.assertGreater(counters[name], 0, name)
            for name, count in case["counters"].items():
                self.assertEqual(count, sum(launch["counters"][name] for launch in case["per_launch"]))

    def test_repro_shows_what_each_launch_counted(self):
        text = mhcheck("repro", "mhc_pre:bf16:t3:n4:h512:seed=1", "--device", "sim").stdout
        self.assertRegex(text, r"(?m)^launch 1 +mhc_pre_gemm_sqrsum_fp32_tile16_bf16\(?")
        self.assertRegex(text, r"(?m)^counted +launch 1 +launch 2 +sum$")
        self.assertRegex(text, r"(?m)^  lds_bank_conflicts +\d+ +\d+ +\d+$")


class BroughtKernels(TemporaryFolder):
    """The program's own code object, brought from outside by a manifest."""

    CASES = ["--op", "mhc_pre,mhc_post", "--hidden", "512", "--tokens", "1,3"]

    def manifest(self, change=lambda manifest: None, name="mine's.json"):
        with open(OWN_MANIFEST, encoding="utf-8") as file:
            manifest = json.load(file)
        manifest["name"] = "mine"
        del manifest["code_object"]
        change(manifest)
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(manifest, file)
        return ["--device", "sim", "--manifest", self.path(name), "--code-object", Simulator.code_object()]

    def run_report(self, *arguments, expect=0):
        done = mhcheck("run", *arguments, "--json", self.path("r.json"), expect=expect)
        return done, self.read_json("r.json")

    def test_they_are_judged_as_our_own_under_the_manifests_name(self):
        done, report = self.run_report(*self.manifest(), *self.CASES)
        self.assertRegex(done.stdout, r"(?m)^mine +mhc_post +4 ")
        self.assertEqual({c["kernel"] for c in report["cases"]}, {"mine"})
        self.assertIn("passed", {c["status"] for c in report["cases"]})
        _, own = self.run_report("--device", "sim", *self.CASES)
        outcome = lambda r: [(c["descriptor"], c["status"], c["outputs"]) for c in r["cases"]]
        self.assertEqual(outcome(report), outcome(own))
        self.assertEqual(report["options"]["manifest"], self.path("mine's.json"))
        self.assertEqual(report["options"]["code_object"], Simulator.code_object())

    def test_what_the_limits_exclude_is_counted_as_refused(self):
        def no_fp16(manifest):
            manifest["operators"]["mhc_post"]["limits"].insert(0, {"require": "dtype != fp16", "message": "no fp16"})
        done, report = self.run_report(*self.manifest(no_fp16), "--op", "mhc_post", "--hidden", "512",
                                       "--tokens", "1,3")
        refused = [c for c in report["cases"] if c["status"] == "refused"]
        self.assertTrue(refused)
        self.assertEqual(report["total"]["refused"], len(refused))
        self.assertEqual(report["total"]["passed"] + len(refused), report["total"]["cases"])
        self.assertIn("no fp16 (dtype != fp16)", {c["reason"] for c in refused})
        self.assertIn(f"mhc_post on mine: {len(refused)} refused, the first is", done.stdout)

    def test_a_failure_repeats_by_the_command_it_prints(self):
        def last_row_is_left_out(manifest):
            for launch in manifest["operators"]["mhc_post"]["launches"]:
                launch["when"] += " && num_tokens > 1"
                launch["grid"] = ["num_tokens - 1"]
        brought = [*self.manifest(last_row_is_left_out), "--variant", "default", "--schedule-seed", "11"]
        done, report = self.run_report(*brought, "--op", "mhc_post", "--hidden", "512", "--tokens", "3", "--dtype",
                                       "bf16", expect=1)
        (case,) = report["cases"]
        self.assertEqual(case["kernel"], "mine/default")
        self.assertIn(f"repeat: {case['repeat']}\n", done.stdout)
        for piece in ("--manifest ", "--code-object ", "--variant default", "--device sim", "--schedule-seed 11"):
            self.assertIn(piece, case["repeat"])
        command = case["repeat"].replace("mhcheck", shlex.quote(MHCHECK), 1)
        again = subprocess.run(["sh", "-c", command + " --json " + self.path("again.json")], capture_output=True,
                               text=True, check=False)
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertIn("unwritten", again.stdout)
        self.assertEqual(without_times(self.read_json("again.json")["cases"]), without_times(report["cases"]))

    def test_what_a_sanitizer_sees_fails_the_case_in_every_report(self):
        def input_is_output(manifest):
            for launch in manifest["operators"]["mhc_post"]["launches"]:
                launch["args"] = ["in.residual" if arg == "out.next_residual" else arg for arg in launch["args"]]
        brought = [*self.manifest(input_is_output), "--sanitize", "writes,race", "--schedules", "2"]
        done, report = self.run_report(*brought, "--op", "mhc_post", "--hidden", "512", "--tokens", "1", "--dtype",
                                       "bf16", "--junit", self.path("r.xml"), "--html", self.path("r.html"), expect=1)
        (case,) = report["cases"]
        self.assertIn("--sanitize writes,race", case["repeat"])
        self.assertIn("--schedules 2", case["repeat"])
        seen = [f["seen"] for f in case["findings"] if f["kind"] == "sanitizer"]
        written = [s for s in seen if s["what"] == "an input is written"]
        self.assertTrue(written, seen)
        self.assertEqual(written[0]["sanitizer"], "writes")
        self.assertRegex(written[0]["memory"], r"^in\.residual\[0, \d, \d+\] \(byte \d+ of 4096\)$")
        self.assertRegex(written[0]["place"]["instruction"], "^(global|buffer)_store")
        self.assertIn("output elements that no wave has written", " ".join(s["what"] for s in seen))
        self.assertIn("an input is written", done.stdout)
        for name in ("r.xml", "r.html"):
            with open(self.path(name), encoding="utf-8") as file:
                self.assertIn("an input is written", file.read())

    def test_a_broken_law_fails_the_case_in_every_report(self):
        def more_tokens_take_fewer_splits(manifest):
            pre = manifest["operators"]["mhc_pre"]
            pre["variants"][0]["let"]["splits"] = "ceildiv(hc_hidden_size, 256 * (1 + (num_tokens > 3)))"
            manifest["operators"] = {"mhc_pre": pre}
        brought = [*self.manifest(more_tokens_take_fewer_splits), "--laws",
                   "repeatability,batch_invariance,fused_equals_unfused"]
        done, report = self.run_report(*brought, "--hidden", "512", "--tokens", "3", "--dtype", "bf16", "--junit",
                                       self.path("r.xml"), "--html", self.path("r.html"), expect=1)
        broken = [c for c in report["cases"] if c["status"] == "failed"]
        self.assertTrue(broken)
        for case in broken:
            self.assertEqual({name: law["status"] for name, law in case["laws"].items()},
                             {"batch_invariance": "broken", "repeatability": "kept", "fused_equals_unfused": "silent"})
            (finding,) = case["findings"]
            self.assertEqual((finding["kind"], finding["law"]), ("law_broken", "batch_invariance"))
            self.assertTrue(all(output["conforms"] for output in case["outputs"]))
        self.assertEqual(report["total"]["laws"]["broken"], len(broken))
        self.assertRegex(done.stdout, r"(?m)^law batch_invariance +\d+ kept +%d broken +0 silent$" % len(broken))
        line = "law_broken: a law is broken that every correct kernel keeps: batch_invariance: a token has the same bits"
        self.assertIn(line, done.stdout)
        suites = ElementTree.parse(self.path("r.xml")).getroot()
        self.assertEqual({f.get("type") for f in suites.iter("failure")}, {"law_broken"})
        with open(self.path("r.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn(line, page)
        self.assertIn("<h2>Laws</h2>", page)

        again = subprocess.run([MHCHECK if word == "mhcheck" else word for word in shlex.split(broken[0]["repeat"])],
                               capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertRegex(again.stdout, r"(?m)^  batch_invariance +broken: among 3 tokens and among 6 ")
        self.assertRegex(again.stdout, r"(?m)^  fused_equals_unfused +silent: ")

    def test_laws_sanitizers_and_schedules_leave_our_own_kernels_in_peace(self):
        _, report = self.run_report("--device", "sim", "--sanitize", "all", "--schedules", "2", "--laws", "all",
                                    *self.CASES)
        self.assertEqual({c["status"] for c in report["cases"]} - {"passed", "refused"}, set())
        self.assertGreater(report["total"]["passed"], 0)

    def test_every_variant_is_a_row(self):
        def two_variants(manifest):
            pre = manifest["operators"]["mhc_pre"]
            pre["variants"] = [pre["variants"][0], json.loads(json.dumps(pre["variants"][0]))]
            pre["variants"][1].update(name="unsplit", let={"splits": "1"})
            manifest["operators"] = {op: manifest["operators"][op] for op in ("mhc_pre", "mhc_post")}
        _, report = self.run_report(*self.manifest(two_variants), "--variant", "all", *self.CASES)
        self.assertEqual([(row["kernel"], row["operator"]) for row in report["table"]],
                         [("mine/default", "mhc_post"), ("mine/fp32", "mhc_pre"), ("mine/unsplit", "mhc_pre")])
        self.assertGreater(report["table"][2]["passed"], 0)
        cases = {name: [c["descriptor"] for c in report["cases"] if c["kernel"] == name]
                 for name in ("mine/fp32", "mine/unsplit")}
        self.assertEqual(cases["mine/fp32"], cases["mine/unsplit"])

    def test_a_manifest_that_does_not_fit_the_code_object_is_one_line(self):
        def rename(manifest):
            manifest["operators"]["mhc_post"]["launches"][0]["kernel"] = "mhc_post_fp8"
        def drop_argument(manifest):
            manifest["operators"]["mhc_post"]["launches"][0]["args"].pop()
        for change, message in [(rename, 'no kernel matches "mhc_post_fp8"'),
                                (drop_argument, "mhc_post: default: mhc_post_bf16: 5 arguments given")]:
            done = mhcheck("run", *self.manifest(change), "--op", "mhc_pre", expect=2)
            self.assertRegex(done.stderr, r"\Amhcheck: [^\n]+\n\Z")
            self.assertIn(message, done.stderr)


class Repro(unittest.TestCase):
    def test_prints_everything_about_the_case(self):
        text = mhcheck("repro", CASE).stdout
        for piece in (CASE, "hc_sinkhorn_eps=1e-6", "residual", "rms", "certified", "elements in double",
                      "layer_input fp16 [5, 64]: conforms", "ulp, ", "bound units", "interval", "fitted scale",
                      "verdict    passed"):
            self.assertIn(piece, text)

    def test_canonical_is_a_fixed_point(self):
        canonical = mhcheck("repro", "--canonical", CASE).stdout.strip()
        self.assertIn("rms_eps=1e-6", canonical)
        self.assertEqual(mhcheck("repro", "--canonical", canonical).stdout.strip(), canonical)

    def test_the_kernel_is_the_one_that_rounds_as_the_case(self):
        text = mhcheck("repro", "mhc_pre:bf16:t3:n4:h64:norm=bf16:collapse=fp32_sumsq:seed=1").stdout
        self.assertIn("kernel     host_fp32_sumsq, device host", text)


class Golden(TemporaryFolder):
    def make(self):
        mhcheck("golden", "make", self.path("g"), CASE, "mhc_pre_gemm_sqrsum:bf16:t3:n4:h64:sk2:seed=1",
                "mhc_post:bf16:t3:n2:h33:seed=1")
        return [os.path.join(self.path("g"), name) for name in sorted(os.listdir(self.path("g")))
                if name.endswith(".safetensors")]

    def test_make_list_verify(self):
        files = self.make()
        self.assertEqual(len(files), 3)
        self.assertIn(CASE, mhcheck("golden", "list", self.path("g")).stdout)
        self.assertIn("3 cases agree", mhcheck("golden", "verify", self.path("g")).stdout)
        with open(files[0], "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 1]))
        self.assertIn(os.path.basename(files[0]), mhcheck("golden", "verify", self.path("g"), expect=2).stderr)

    def outputs_of(self, case_file, keep_inputs=False):
        file = Safetensors(case_file)
        file.tensors = {name: t for name, t in file.tensors.items()
                        if name.startswith("out.") or (keep_inputs and name.startswith("in."))}
        return file

    def case_file(self, operator):
        return next(f for f in self.make() if os.path.basename(f).startswith(operator + "-"))

    def test_check_accepts_the_right_answer(self):
        for keep_inputs in (False, True):
            outputs = self.outputs_of(self.case_file("mhc_pre"), keep_inputs)
            outputs.write(self.path("mine.safetensors"))
            text = mhcheck("check", self.path("mine.safetensors"), "--json", self.path("r.json")).stdout
            self.assertIn("verdict    passed", text)
            self.assertEqual(self.read_json("r.json")["total"]["passed"], 1)

    def test_check_takes_the_case_by_descriptor_or_by_name(self):
        golden = self.case_file("mhc_pre")
        outputs = self.outputs_of(golden)
        outputs.metadata = {}
        outputs.write(self.path("mine.safetensors"))
        self.assertIn("descriptor",
                      mhcheck("check", self.path("mine.safetensors"), expect=2).stderr)
        mhcheck("check", self.path("mine.safetensors"), "--case", CASE)
        name = os.path.basename(golden)[:-len(".safetensors")]
        mhcheck("check", self.path("mine.safetensors"), "--golden", self.path("g"), "--case", name)
        self.assertIn("has no case 'other'", mhcheck("check", self.path("mine.safetensors"), "--golden",
                                                     self.path("g"), "--case", "other", expect=2).stderr)

    def break_and_check(self, tensor, change):
        outputs = self.outputs_of(self.case_file("mhc_pre"))
        change(outputs.tensors[tensor][2])
        outputs.write(self.path("mine.safetensors"))
        done = mhcheck("check", self.path("mine.safetensors"), "--json", self.path("r.json"), "--junit",
                       self.path("r.xml"), "--html", self.path("r.html"), expect=1)
        (case,) = self.read_json("r.json")["cases"]
        (wrong,) = [o for o in case["outputs"] if not o["conforms"]]
        self.assertEqual("out." + wrong["name"], tensor)
        failure = ElementTree.parse(self.path("r.xml")).getroot().find("./testsuite/testcase/failure")
        self.assertEqual(failure.get("type"), wrong["findings"][0]["kind"])
        self.assertIn(wrong["findings"][0]["kind"], done.stdout)
        self.assertIn("verdict    failed", done.stdout)
        self.assertIn(f"mhcheck check '{self.path('mine.safetensors')}'", done.stdout)
        return wrong["findings"][0]

    def test_check_names_a_nan_at_the_very_end(self):
        def nan(data):
            data[-2:] = struct.pack("<H", 0x7E00)
        finding = self.break_and_check("out.layer_input", nan)
        self.assertEqual(finding["kind"], "not_a_number")
        self.assertEqual(finding["worst"]["flat"], 5 * 64 - 1)
        self.assertEqual(finding["worst"]["bits"]["got"], "0x7e00")

    def test_check_names_a_wrong_fp32_element(self):
        def nudge(data):
            (value,) = struct.unpack_from("<f", data, 4 * 7)
            struct.pack_into("<f", data, 4 * 7, value * 1.001)
        finding = self.break_and_check("out.comb_mix", nudge)
        self.assertEqual(finding["kind"], "outside_deterministic")
        self.assertEqual(finding["worst"]["flat"], 7)

    def test_check_names_swapped_rows(self):
        def swap(data):
            data[0:128], data[128:256] = data[128:256], data[0:128]
        self.assertEqual(self.break_and_check("out.layer_input", swap)["kind"], "outside_deterministic")

    def test_check_says_when_the_inputs_are_other_ones(self):
        outputs = self.outputs_of(self.case_file("mhc_pre"), keep_inputs=True)
        outputs.tensors["in.residual"][2][10] ^= 1
        outputs.write(self.path("mine.safetensors"))
        done = mhcheck("check", self.path("mine.safetensors"), expect=2)
        self.assertIn("in.residual is not the case's input: element 5", done.stderr)

    def test_check_refuses_damaged_files_in_one_line(self):
        golden = self.case_file("mhc_pre")
        with open(golden, "rb") as file:
            whole = file.read()
        (length,) = struct.unpack("<Q", whole[:8])
        shape = re.search(rb'"out.layer_input":\{[^}]*\}', whole).group(0)
        for what, data in [
            ("empty", b""),
            ("truncated", whole[:-1]),
            ("longer", whole + b"\0"),
            ("header length", struct.pack("<Q", length + 8) + whole[8:]),
            ("huge header", struct.pack("<Q", 2**62) + whole[8:]),
            ("dtype", whole.replace(shape, shape.replace(b'"F16"', b'"F64"'))),
            ("shape", whole.replace(shape, shape.replace(b"[5,64]", b"[5,63]"))),
        ]:
            with self.subTest(what=what):
                self.assertNotEqual(data, whole)
                with open(self.path("damaged.safetensors"), "wb") as file:
                    file.write(data)
                done = mhcheck("check", self.path("damaged.safetensors"), expect=2)
                self.assertRegex(done.stderr, r"\Amhcheck: [^\n]*damaged.safetensors[^\n]*\n\Z")


if __name__ == "__main__":
    MHCHECK = sys.argv.pop()
    OWN_MANIFEST = os.path.join(os.path.dirname(MHCHECK), "kernels", "hip", "mhc.json")
    unittest.main()
