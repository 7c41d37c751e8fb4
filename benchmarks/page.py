"""Time from the key Enter to the answer on the page, in a real Chromium.

    python -m benchmarks.page            a service of its own
    python -m benchmarks.page URL        a running one

Every question is new to the cache. What is timed is what a person waits for: the answer,
typeset and painted; graph and steps come after it.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from tests.operations.process import service
from tests.web.conftest import FLAGS, find_chromium

#: Five shapes a tab; the number makes each question a new one.
SHAPES = {
    "differentiate": (
        "sin({n} exp(x^2))",
        "x^{n} e^x",
        "ln(x^2+{n})/x",
        "sqrt({n}+x^2)",
        "x^2 sin({n} x)",
    ),
    "integrate": (
        "x sin({n} x)",
        "x^2 e^({n} x)",
        "1/(x^2+{n})",
        "cos({n} x)^2",
        "ln({n} x)",
    ),
    "heat": ("x(1-x)/{n}", "sin({n} pi x)", "{n} x", "x^2 (1-x)/{n}", "min({n} x, 1)"),
}
ROUNDS = 4
FIELDS = {"differentiate": "Function", "integrate": "Integrand", "heat": "u(x, 0)"}

#: Milliseconds from the press to the frame that shows the answer.
TIMED = """([panel]) => new Promise((resolve) => {
  const box = document.querySelector(`#panel-${panel} .results`);
  const start = performance.now();
  const watch = new MutationObserver(() => {
    if (!box.querySelector('.answer, .problem, .badge')) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
  });
  watch.observe(box, {childList: true, subtree: true});
  box.closest('section').querySelector('form').requestSubmit();
})"""


def measure(page: Page, tab: str) -> list[float]:
    """Milliseconds of every question after the first, which loads fonts."""
    page.get_by_role("tab", name=tab.capitalize()).click()
    found = []
    for number in range(ROUNDS * len(SHAPES[tab]) + 1):
        shape = SHAPES[tab][number % len(SHAPES[tab])]
        page.get_by_label(FIELDS[tab]).fill(shape.format(n=number + 2))
        page.wait_for_timeout(400)  # the preview, as for somebody who types
        found.append(float(page.evaluate(TIMED, [tab])))
        page.wait_for_timeout(300)
    return sorted(found[1:])


@contextmanager
def address() -> Iterator[str]:
    """The service that is asked."""
    if len(sys.argv) > 1:
        yield sys.argv[1]
        return
    cores = os.cpu_count() or 1
    with service(workers=cores, threads=cores) as running:
        yield running.url


def main() -> int:
    """Print a table."""
    with address() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(playwright), args=list(FLAGS)
        )
        page = browser.new_page(base_url=url)
        page.set_default_timeout(60_000)
        page.goto("/")
        load = os.getloadavg()[0]
        print(f"{os.cpu_count()} cores, load {load:.1f}")
        print("| tab | questions | median ms | p95 ms |\n| --- | ---: | ---: | ---: |")
        for tab in SHAPES:
            times = measure(page, tab)
            tail = times[min(len(times) - 1, round(0.95 * len(times)))]
            print(f"| {tab} | {len(times)} | {statistics.median(times):.0f} | {tail:.0f} |")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
