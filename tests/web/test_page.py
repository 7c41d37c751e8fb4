"""The page in a real Chromium: type, see, copy, err, slide, on a phone, with keys only."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import sympy

from tests.service.http_server import Serving

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page, Request, Route


def differentiate(page: Page, expression: str) -> Locator:
    """Ask; the answer's formula once it is there."""
    page.get_by_role("tab", name="Differentiate").click()
    page.get_by_label("Function").fill(expression)
    page.get_by_label("Function").press("Enter")
    return answer(page, "differentiate")


def answer(page: Page, tab: str) -> Locator:
    found = page.locator(f"#panel-{tab} .answer")
    found.wait_for()
    return found


def latex(formula: Locator) -> str:
    """The source that KaTeX keeps beside what it has set."""
    return formula.locator("annotation").first.text_content() or ""


def initial_condition(request: Request) -> list[float]:
    body = request.post_data_json
    assert body is not None
    values: list[float] = body["initial_condition"]
    return values


def clipboard(page: Page, name: str) -> str:
    page.get_by_role("button", name=f"Copy {name}").click()
    page.get_by_text("Copied", exact=True).wait_for()
    copied: str = page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("button", name=f"Copy {name}").get_by_text(name).wait_for()
    return copied


def test_typing_shows_how_it_is_understood(page: Page) -> None:
    """The preview is the typeset question, and follows what is typed."""
    page.get_by_label("Function").fill("1/2x")
    understood = page.locator("#panel-differentiate .understood")
    understood.wait_for()
    assert latex(understood) == r"\frac{d}{dx} \frac{1}{2} x"
    page.get_by_label("Function").fill("theta^2")
    page.get_by_role("group", name="Understood as Derivative(theta**2, theta)").wait_for()


def test_a_mistake_has_a_caret_under_its_place(page: Page) -> None:
    """The field is marked invalid, and the caret stands under the unknown function."""
    page.get_by_label("Function").fill("α + 1+foo(x)")
    page.locator(".caret").wait_for()
    source, caret = (page.locator(".caret").text_content() or "").split("\n")
    assert source[len(caret) - 1 :].startswith("foo")
    assert page.get_by_label("Function").get_attribute("aria-invalid") == "true"
    page.get_by_text("Unknown function foo.").wait_for()
    page.get_by_label("Function").fill("x")
    page.locator(".understood").wait_for()
    assert page.get_by_label("Function").get_attribute("aria-invalid") is None


def test_an_answer_says_what_it_is_worth(page: Page) -> None:
    """Formula, badge, author, method and times are all there."""
    found = differentiate(page, "sin(exp(x^2))")
    assert r"2 x e^{x^{2}} \cos" in latex(found)
    card = page.get_by_role("region", name="Answer")
    assert card.locator(".badge").text_content() == "Proved"
    facts = card.locator(".facts").text_content() or ""
    assert "Transformer differentiate" in facts
    assert "verify" in facts


def test_the_badges_are_explained_before_the_first_answer(page: Page) -> None:
    """What proved, checked and not found promise stands where the answer will be."""
    legend = page.locator("#panel-differentiate").get_by_label("What the badges mean")
    assert legend.locator(".badge").all_text_contents() == [
        "Proved",
        "Checked to 30 digits",
        "Not found",
    ]
    differentiate(page, "x")
    assert legend.count() == 0


def test_what_the_preview_knows_is_not_asked_again(page: Page) -> None:
    """Enter sends the question alone; the graph is asked for when the answer is there."""
    page.get_by_label("Function").fill("x^2 + 1")
    page.locator("#panel-differentiate .understood").wait_for()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.get_by_label("Function").press("Enter")
    answer(page, "differentiate")
    page.locator("#panel-differentiate .u-over").wait_for()
    assert [path for path in asked if not path.startswith("/static")] == [
        "/differentiate",
        "/sample",
    ]


def test_a_service_that_starts_is_waited_for(page: Page) -> None:
    """Whoever opens the page too early gets an answer all the same, without pressing again."""
    refusals = iter([b'{"type": "/problems/not-ready", "detail": "The models are being loaded."}'])

    def starting(route: Route) -> None:
        refusal = next(refusals, None)
        if refusal is None:
            route.continue_()
        else:
            route.fulfill(status=503, body=refusal, headers={"Retry-After": "1"})

    page.route("**/differentiate", starting)
    page.get_by_label("Function").fill("x^2")
    page.get_by_label("Function").press("Enter")
    page.get_by_text("The models are being loaded.").wait_for()
    assert latex(answer(page, "differentiate")).endswith("2 x")


def test_what_is_copied_works_elsewhere(page: Page) -> None:
    """The SymPy program runs, and the curl command gives the same answer again."""
    page.get_by_label("Function").fill("a t^2 sin(t)")
    page.locator("#panel-differentiate").get_by_label("Variable").fill("t")
    page.get_by_role("button", name="Differentiate", exact=True).click()
    answer(page, "differentiate")
    program = clipboard(page, "SymPy")
    names: dict[str, object] = {}
    exec(program, names)
    a, t = sympy.symbols("a t", real=True)
    assert sympy.simplify(names["answer"] - sympy.diff(a * t**2 * sympy.sin(t), t)) == 0
    command = shlex.split(clipboard(page, "curl"))
    again = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert again["answer"]["text"] == clipboard(page, "text")
    assert again["answer"]["latex"] == clipboard(page, "LaTeX")


def test_a_link_brings_the_question_back(page: Page, context: BrowserContext) -> None:
    """Opened elsewhere, it fills the form and asks."""
    page.get_by_role("tab", name="Integrate").click()
    page.get_by_label("Integrand").fill("x^2")
    page.get_by_label("From").fill("0")
    page.get_by_label("To", exact=True).fill("3")
    page.get_by_label("Integrand").press("Enter")
    answer(page, "integrate")
    other = context.new_page()
    other.goto(clipboard(page, "link"))
    assert latex(answer(other, "integrate")).endswith("= 9")
    assert other.get_by_label("To", exact=True).input_value() == "3"


def test_several_symbols_are_offered_as_variables(page: Page) -> None:
    """An unclear variable is one press away from clear."""
    page.get_by_label("Function").fill("a b^2")
    page.get_by_role("button", name="b", exact=True).click()
    assert latex(answer(page, "differentiate")).endswith("= 2 a b")


def test_an_integral_in_the_wrong_tab_is_taken_to_the_right_one(page: Page) -> None:
    """The refusal has a way on."""
    page.get_by_label("Function").fill(r"\int_0^1 x\,dx")
    page.get_by_role("button", name="Take it to integrate").click()
    assert latex(answer(page, "integrate")).endswith(r"\frac{1}{2}")


def test_the_graph_zooms(page: Page) -> None:
    """Buttons and dragging narrow the interval; a reset brings it back."""
    differentiate(page, "x^3")
    plot = page.locator("#panel-differentiate .plot")
    plot.locator(".u-over").wait_for()
    page.get_by_role("button", name="Zoom in").click()
    assert plot.get_attribute("data-range") == "-2.5 2.5"
    box = plot.locator(".u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60, steps=5)
    page.mouse.up()
    low, high = map(float, (plot.get_attribute("data-range") or "").split())
    assert -1.4 < low < -1.1
    assert -0.2 < high < 0.2
    page.get_by_role("button", name="Reset the view").click()
    assert plot.get_attribute("data-range") == "-5 5"


def labels(page: Page) -> list[tuple[str, float]]:
    """What the last drawing of the graph wrote beside its y axis, and how far from the edge."""
    found: list[tuple[str, float]] = page.evaluate("""
        [...document.querySelectorAll(".plot canvas")].filter(c => c.offsetWidth)
            .flatMap(c => c.written.filter(w => w.align === "right").map(w => [w.text, w.left]))
    """)
    return found


@pytest.fixture
def written(context: BrowserContext) -> None:
    """Each canvas keeps the words that were drawn on it since it was cleared."""
    context.add_init_script("""
        const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.clearRect = function (...box) {
            this.canvas.written = [];
            clearRect.apply(this, box);
        };
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            const { width } = this.measureText(text);
            (this.canvas.written ??= []).push(
                { text, align: this.textAlign, left: this.textAlign === "right" ? x - width : x });
            fillText.call(this, text, x, y);
        };
    """)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    ("expression", "largest"),
    [
        ("sin(exp(x^2))", 1e6),
        ("x^9", 1e5),
        ("exp(x^2)", 1e6),
        ("1/x^8", 1),
        ("-x/10^9", 1e-9),
        ("10^6 + sin(x)/10^3", 1e6),
        ("exp(exp(x))", 1e38),
        ("10^17 + x", 1e17),
        ("x^3", 100),
    ],
)
@pytest.mark.usefixtures("written")
def test_no_label_of_a_graph_is_cut_off(
    context: BrowserContext, expression: str, largest: float, width: int
) -> None:
    """The labels beside the y axis are numbers, whole ones, all different, on every screen."""
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/")
    differentiate(page, expression)
    page.locator("#panel-differentiate .u-over").wait_for()
    found = labels(page)
    assert len(found) >= 3
    assert all(left >= 0 for _, left in found), found
    assert not any("-" in text or "+" in text for text, _ in found)
    values = [float(text.replace("−", "-")) for text, _ in found]
    assert len(set(values)) == len(values)
    assert max(map(abs, values)) >= largest


def test_a_definite_integral_shades_its_area(page: Page) -> None:
    """The graph has a filled series besides the curve, and the value is shown in digits."""
    page.goto("/#integrate?e=x^2&a=0&b=2")
    answer(page, "integrate")
    page.locator("#panel-integrate .u-legend").wait_for()
    assert "area" in (page.locator("#panel-integrate .u-legend").text_content() or "")
    assert (page.locator("#panel-integrate .value output").text_content() or "").startswith("2.666")


@pytest.mark.parametrize("expression", ["1/(2%2Bcos x)", "-2-sin x"])
@pytest.mark.usefixtures("written")
def test_an_area_ends_at_the_axis(page: Page, expression: str) -> None:
    """What is shaded lies between curve and y = 0, however far the curve is from there."""
    page.goto(f"/#integrate?e={expression}&a=0&b=2pi")
    answer(page, "integrate")
    page.locator("#panel-integrate .u-over").wait_for()
    assert "0" in [text for text, _ in labels(page)]


def test_steps_are_rules_and_each_is_checked(page: Page) -> None:
    """Product and chain rule appear by name, each with its check."""
    differentiate(page, "x^2 sin(3x)")
    page.get_by_text("Steps", exact=True).click()
    rules = page.locator("#panel-differentiate .rule")
    rules.first.wait_for()
    words = rules.all_text_contents()
    assert any(word.startswith("Product rule") for word in words)
    assert any(word.startswith("Sine and chain rule") for word in words)
    assert all("proved" in word or "checked" in word for word in words)


def test_steps_of_an_integral_differentiate_it_back(page: Page) -> None:
    """The last word is that the derivative of the answer is the integrand."""
    page.goto("/#integrate?e=x e^x")
    answer(page, "integrate")
    page.get_by_text("Steps", exact=True).click()
    page.get_by_text("Together they are the integrand").wait_for()
    page.get_by_text("Differentiated back").wait_for()


def test_heat_has_a_time_slider_profiles_a_map_and_errors(page: Page) -> None:
    """Sliding changes clock and pictures; the exact values arrive and the error is drawn."""
    page.goto("/#heat?e=sin(pi x)&T=0.2")
    slider = page.get_by_role("slider", name="Time")
    slider.wait_for()
    page.locator("#panel-heat .plot.small .u-over").wait_for()
    charts = page.locator("#panel-heat canvas")
    pixels = "list => list.map(canvas => canvas.toDataURL())"
    before = charts.evaluate_all(pixels)
    clock = page.locator("#panel-heat .time output")
    shown = clock.text_content()
    slider.focus()
    slider.press("End")
    assert clock.text_content() == "t = 0.2" != shown
    page.wait_for_timeout(200)
    after = charts.evaluate_all(pixels)
    assert len(before) >= 4
    assert sum(a != b for a, b in zip(before, after, strict=True)) >= 3
    assert latex(page.locator("#panel-heat .answer")).startswith("u(x, t) =")


def test_an_initial_condition_can_be_drawn_and_edited_with_keys(page: Page) -> None:
    """What was drawn with the mouse, then raised with a key, is what is solved."""
    page.get_by_role("tab", name="Heat").click()
    page.get_by_label("Drawn").check()
    canvas = page.locator("canvas.draw")
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 1, box["y"] + box["height"] * 2 / 3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3, steps=8)
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] * 2 / 3, steps=8)
    page.mouse.up()
    with page.expect_request("**/pde/heat") as first:
        page.get_by_role("button", name="Solve").click()
    drawn = initial_condition(first.value)
    assert max(drawn) == pytest.approx(1, abs=0.1)
    assert abs(drawn[0]) < 0.1
    assert abs(drawn[-1]) < 0.1
    page.get_by_role("slider", name="Time").wait_for()
    canvas.press("ArrowUp")
    with page.expect_request("**/pde/heat") as second:
        page.get_by_role("button", name="Solve").click()
    raised = initial_condition(second.value)
    assert raised[64] == pytest.approx(drawn[64] + 0.1, abs=0.01)
    page.get_by_role("slider", name="Time").wait_for()


def test_keys_are_enough(page: Page) -> None:
    """From the tabs to the copied answer without a mouse."""
    page.get_by_role("tab", name="Differentiate").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-integrate"
    page.keyboard.press("Tab")
    page.keyboard.type("2x")
    page.keyboard.press("Enter")
    answer(page, "integrate")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "text":
            break
    page.keyboard.press("Enter")
    page.get_by_text("Copied", exact=True).wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "x**2 + C"


def test_answers_are_announced(page: Page) -> None:
    """A screen reader hears the answer and whether it is proved."""
    differentiate(page, "x^2")
    assert page.get_by_role("status").text_content() == "Answer: 2*x. Proved."


def test_history_stays_in_the_browser(page: Page) -> None:
    """After a reload an old question is one press away; it can be cleared."""
    differentiate(page, "x^5")
    page.goto("/")
    page.reload()
    page.get_by_role("button", name="History").click()
    page.get_by_role("link", name="Derivative(x**5, x)").click()
    assert latex(answer(page, "differentiate")).endswith("5 x^{4}")
    page.get_by_role("button", name="Clear").click()
    assert page.locator("#history a").count() == 0


def test_an_example_is_asked_with_one_press(page: Page) -> None:
    """No typing is needed for a first answer."""
    page.get_by_role("button", name="x^x", exact=True).click()
    answer(page, "differentiate")


@pytest.mark.parametrize(
    "address",
    ["/#differentiate?e=sin(exp(x^2))&n=2", "/#integrate?e=1/(x^4%2B1)", "/#heat?e=x(1-x)"],
)
def test_a_phone_needs_no_sideways_scrolling(context: BrowserContext, address: str) -> None:
    """At 360 pixels only formulas scroll, each in its own box."""
    page = context.new_page()
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(address)
    page.locator(".answer:visible").wait_for()
    page.locator(".plot .u-over:visible").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_on_the_narrowest_phone_every_control_stays_in_its_card(context: BrowserContext) -> None:
    """At 320 pixels no field of the Heat tab sticks out, whatever its longest choice."""
    page = context.new_page()
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto("/")
    page.get_by_role("tab", name="Heat").click()
    outside = page.locator("#panel-heat form").evaluate("""form => {
        const { right } = form.getBoundingClientRect();
        return [...form.querySelectorAll("input, select, button")]
            .filter(one => one.offsetWidth && one.getBoundingClientRect().right > right - 12)
            .map(one => one.outerHTML);
    }""")
    assert outside == []


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize(
    "address",
    [
        "/#differentiate?e=x sin(x)",
        "/#integrate?e=x^2&a=0&b=1",
        "/#heat?e=sin(pi x)",
        "/#differentiate?e=foo(x)",
    ],
)
def test_axe_finds_nothing(context: BrowserContext, address: str, colours: str) -> None:
    """No rule of axe-core is violated, with answers, steps, history and mistakes shown."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is needed")
    page = context.new_page()
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    page.goto(address)
    page.locator(".answer:visible, .problem:visible").first.wait_for()
    page.get_by_role("button", name="History").click()
    if "heat" not in address and "foo" not in address:
        page.get_by_text("Steps", exact=True).click()
        page.locator(".rule:visible").first.wait_for()
    found = axe.Axe().run(page)
    assert [
        (one["id"], [node["html"] for node in one["nodes"]]) for one in found.response["violations"]
    ] == []


def test_nothing_comes_from_elsewhere(context: BrowserContext, service: Serving) -> None:
    """Every request of the page, fonts included, goes to the service itself."""
    page = context.new_page()
    hosts: list[str] = []
    page.on("request", lambda request: hosts.append(urlsplit(request.url).netloc))
    page.goto("/#differentiate?e=x^2")
    answer(page, "differentiate")
    page.wait_for_load_state("networkidle")
    assert set(hosts) == {urlsplit(service.url).netloc}


def test_a_service_that_is_gone_is_told(page: Page, context: BrowserContext) -> None:
    """Without a connection the page says so, and is not stuck."""
    page.get_by_label("Function").fill("x")
    page.locator(".understood").wait_for()
    context.set_offline(True)
    page.get_by_label("Function").press("Enter")
    page.get_by_role("alert").get_by_text("cannot be reached").first.wait_for()
    context.set_offline(False)
    answer_after = differentiate(page, "x^2")
    assert latex(answer_after).endswith("2 x")
