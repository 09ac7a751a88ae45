# SPDX-License-Identifier: Apache-2.0
"""pytest --plat-check: a test fails if it leaks device memory or breaks a rule of it.

What a test makes it must give back by the end of its teardown. What fixtures of a wider scope make is theirs: it is looked at when
the session ends.
"""
from typing import Any, Generator, List, Optional

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest.runner import runtestprotocol

from . import _inspector, _trail
from ._check import Check
from ._findings import Finding

_MARK = "no_plat_check"


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("plat", "device memory")
    group.addoption("--plat-check", action="store_true", help="fail tests that leak device memory or break a rule of it")
    group.addoption("--plat-check-strict", action="store_true", help="the same, and warnings count")
    group.addoption("--plat-check-no-unwritten", action="store_true", help="do not look for reads of bytes that were never written")
    group.addoption("--plat-check-suppressions", metavar="FILE", help="known findings, as `plat check --suppressions` takes them")


def _is_on(options: Any) -> bool:
    return options.plat_check or options.plat_check_strict


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """A conftest.py may import acl, so the recorder comes first."""
    if _is_on(early_config.known_args_namespace):
        try:
            _inspector.attach()
        except _inspector.InspectorError as error:
            raise pytest.UsageError(f"--plat-check: {error}") from None


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", f"{_MARK}: --plat-check does not look at this test")
    if _is_on(config.option):
        config.pluginmanager.register(Checks(config.option), "plat-checks")


@pytest.fixture
def plat_sleep_trial() -> Any:
    """plat_sleep_trial(make) leads an allocator through sleep and wake with a failure at every step; see plat.sleep_trial."""
    from ._trial import sleep_trial
    return sleep_trial


class Checks:
    """The checks of a session."""

    def __init__(self, option: Any) -> None:
        self._strict = option.plat_check_strict
        self._options = {"warnings": self._strict, "unwritten": not option.plat_check_no_unwritten}
        if option.plat_check_suppressions:
            try:
                with open(option.plat_check_suppressions, encoding="utf-8") as file:
                    self._options["suppressions"] = file.read()
            except OSError as error:
                raise pytest.UsageError(f"--plat-check-suppressions: {error}") from None
        self._events: "set[int]" = set()  # where findings show that some test was told of
        self._left: List[Finding] = []
        self._session = Check(**self._options)
        _trail.FOREIGN.update(("_pytest", "pluggy"))
        self._test: Optional[Check] = None

    def pytest_sessionstart(self) -> None:
        self._session.__enter__()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, None, None]:
        if self._test is None or fixturedef.scope == "function":
            yield
            return
        with self._test.held():
            yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Any:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        if item.get_closest_marker(_MARK):
            with self._session.held():
                reports = runtestprotocol(item, nextitem=nextitem, log=False)
        else:
            self._test = Check(**self._options)
            with self._test:
                reports = runtestprotocol(item, nextitem=nextitem, log=False)
            findings, self._test = self._test.findings, None
            self._events.update(finding.site.event for finding in findings if finding.site)
            if findings:
                _tell(reports, findings)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any) -> None:
        self._session.__exit__()
        self._left = [finding for finding in self._session.findings if finding.site is None or finding.site.event not in self._events]
        if self._left and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._left:
            terminalreporter.section("plat check: by fixtures of a wider scope than a test", red=True)
            terminalreporter.write_line(_text(self._left))


class Told(TerminalRepr):
    """Why a test failed; pytest's summary and JUnit take the reason from reprcrash."""

    def __init__(self, location: Any, findings: List[Finding]) -> None:
        first, more = findings[0], len(findings) - 1
        reason = f"{first.rule}: {first.message}" + (f" (and {more} more)" if more else "")
        self.text = _text(findings)
        self.reprcrash = ReprFileLocation(location[0], (location[1] or 0) + 1, reason)

    def __str__(self) -> str:
        return self.text

    def toterminal(self, tw: Any) -> None:
        tw.line(self.text)


def _text(findings: List[Finding]) -> str:
    return "\n".join(finding.text for finding in findings)


def _tell(reports: List[Any], findings: List[Finding]) -> None:
    """A test that passed has failed; one that failed or was skipped says more."""
    for report in reports:
        if report.when == "call" and report.outcome == "passed":
            report.outcome, report.longrepr = "failed", Told(report.location, findings)
            return
    told = next((report for report in reports if report.outcome != "passed"), reports[-1])
    told.sections.append(("plat check", _text(findings)))
