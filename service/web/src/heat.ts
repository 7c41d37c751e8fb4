// The tab Heat: an initial condition, its future, and how far the model is from the exact one.
import uPlot from "uplot";
import { type HeatAnswer, Problem, curl, post, postText } from "./api";
import { badge, problemCard, timings } from "./answer";
import type { Tab } from "./calculus";
import { copyButtons, sympyCode } from "./copy";
import { type Child, announce, h, labelled, options, replace, significant } from "./dom";
import { type Drawing, drawing } from "./draw";
import { formulaField } from "./field";
import { remember } from "./history";
import { formula } from "./latex";
import { spaceTime } from "./map";
import { axes, line, register } from "./plot";

const POINTS = 129;
const TIMES = 49;
const EXAMPLES: Record<string, string>[] = [
  { e: "sin(pi x)" }, { e: "x(1-x)" }, { e: "Piecewise((1, x < 1/2), (0, True))", kind: "neumann" },
  { e: "exp(-100 (x - 1/2)^2)", kind: "periodic" }, { e: "0", left: "1", right: "0", T: "0.3" },
];

export function heatTab(panel: HTMLElement): Tab {
  const short = (value: string) => h("input", { type: "text", class: "short", value, autocomplete: "off", spellcheck: "false", maxlength: 100 });
  const alpha = short("1");
  const length = short("1");
  const last = short("0.1");
  const left = short("0");
  const right = short("0");
  const source = short("0");
  const kind = h("select", {}, ...options([
    ["dirichlet", "Values at the ends (Dirichlet)"], ["neumann", "Slopes at the ends (Neumann)"],
    ["periodic", "Periodic"], ["mixed", "A value and a slope (mixed)"]], "dirichlet"));
  const sideKind = (label: string, chosen: string) => h("select", { "aria-label": label }, ...options([["u", "value u ="], ["u_x", "slope u_x ="]], chosen));
  const leftKind = sideKind("What is given on the left", "u");
  const rightKind = sideKind("What is given on the right", "u_x");
  const engine = h("select", {}, ...options([["auto", "Model, then exact formulas"], ["model", "Model only"], ["spectral", "Exact formulas only"]], "auto"));
  const results = h("div", { class: "results" });
  const field = formulaField({ label: "u(x, 0)", placeholder: "x(1-x)", fields: () => ({ variable: "x" }), prefix: "u(x, 0) = " });
  let sketch: Drawing | null = null;
  const drawBox = h("div", { hidden: true });
  const radio = (value: string, text: string, checked: boolean) => {
    const input = h("input", { type: "radio", name: "initial", value, checked, onchange: mode });
    return [input, h("label", {}, input, text)] as const;
  };
  const [typed, typedLabel] = radio("typed", "Formula", true);
  const [drawn, drawnLabel] = radio("drawn", "Drawn", false);
  const leftField = labelled("Left", left);
  const rightField = labelled("Right", right);
  let running: AbortController | null = null;

  function mode(): void {
    field.element.hidden = drawn.checked;
    drawBox.hidden = !drawn.checked;
    if (drawn.checked && !sketch) {
      sketch = drawing(() => undefined);
      drawBox.append(sketch.element, h("p", { class: "note" }, "Draw with the mouse or a finger, or focus the picture and use the arrow keys."));
    }
    sketch?.redraw();
  }

  function ends(): void {
    const mixed = kind.value === "mixed";
    const periodic = kind.value === "periodic";
    for (const box of [leftField, rightField]) box.hidden = periodic;
    leftKind.hidden = rightKind.hidden = !mixed;
    const what = kind.value === "neumann" ? "slope" : mixed ? "end" : "value";
    (leftField.firstChild as HTMLElement).textContent = `Left ${what}`;
    (rightField.firstChild as HTMLElement).textContent = `Right ${what}`;
  }
  kind.addEventListener("change", ends);

  function number(input: HTMLInputElement, name: string): string | number {
    const text = input.value.trim();
    if (!text) throw new Problem({ type: "/problems/invalid-request", title: "The request is not valid", status: 422, detail: `${name} is missing.` });
    return text;
  }

  function boundary(): Record<string, unknown> {
    if (kind.value === "periodic") return { kind: "periodic" };
    const [a, b] = [number(left, "The left end"), number(right, "The right end")];
    if (kind.value !== "mixed") return { kind: kind.value, left: a, right: b };
    return { kind: "mixed", left: { [leftKind.value]: a }, right: { [rightKind.value]: b } };
  }

  /** Denser near the start, where things happen: t = T (k/n)². */
  async function times(): Promise<number[]> {
    const text = String(number(last, "The last time"));
    let T = Number(text);
    if (!Number.isFinite(T)) {
      const { curves } = await post<{ curves: { values: (number | null)[] | null }[] }>("/sample", { expressions: [text], variable: "x", lower: 0, upper: 1, points: 2 });
      T = curves[0].values?.[0] ?? NaN;
    }
    if (!(T > 0)) throw new Problem({ type: "/problems/invalid-request", title: "The request is not valid", status: 422, detail: "The last time must be a number greater than 0." });
    return Array.from({ length: TIMES }, (_, k) => T * (k / (TIMES - 1)) ** 2);
  }

  function parameters(): URLSearchParams {
    const found = new URLSearchParams();
    if (drawn.checked && sketch) found.set("u", sketch.values.map((v) => Math.round(100 * v)).join("."));
    else found.set("e", field.input.value);
    const plain: [string, string, string][] = [["kind", kind.value, "dirichlet"], ["left", left.value, "0"], ["right", right.value, "0"],
      ["alpha", alpha.value, "1"], ["L", length.value, "1"], ["T", last.value, "0.1"], ["source", source.value, "0"], ["engine", engine.value, "auto"]];
    for (const [name, value, usual] of plain) if (value !== usual) found.set(name, value);
    if (kind.value === "mixed") found.set("ends", `${leftKind.value} ${rightKind.value}`);
    return found;
  }

  async function ask(): Promise<void> {
    if (!drawn.checked && !field.input.value.trim()) {
      field.input.focus();
      return;
    }
    running?.abort();
    const control = (running = new AbortController());
    results.setAttribute("aria-busy", "true");
    const doing = h("p", {}, "Solving…");
    const waiting = (why: string) => { doing.textContent = why; };
    replace(results, h("section", { class: "card working" }, doing,
      h("button", { type: "button", onclick: () => control.abort() }, "Stop")));
    try {
      const body: Record<string, unknown> = {
        initial_condition: drawn.checked && sketch ? sketch.values.map((v) => Number(v.toFixed(4))) : field.input.value,
        alpha: number(alpha, "α"), length: number(length, "The length"), times: await times(), boundary: boundary(), points: POINTS,
      };
      if (source.value.trim() && source.value.trim() !== "0") body.source_term = source.value.trim();
      const asked = engine.value === "auto" ? body : { ...body, engine: engine.value };
      const found = await post<HeatAnswer>("/pde/heat", asked, control.signal, waiting);
      const here = `#heat?${parameters()}`;
      window.history.replaceState(null, "", here);
      if (found.status !== "solved" || !found.verification) {
        replace(results, h("section", { class: "card" }, h("div", { class: "card-head" }, h("h2", {}, "Answer"), badge("unsolved")), h("p", { class: "mistake" }, `Nothing that could be verified was found: ${found.reason ?? ""}.`)));
        return;
      }
      const place = show(found, asked, location.href.split("#")[0] + here);
      remember({ hash: here, title: drawn.checked ? "u_t = α u_xx, drawn" : `u(x, 0) = ${field.input.value}`, answer: found.verification.status });
      announce(`Solved: ${found.verification.status}`);
      try {
        place?.(found.source === "spectral" ? found.u : await exactValues(body, control.signal));
      } catch {
        place?.(null);
      }
    } catch (error) {
      if (control !== running) return;
      if (error instanceof Problem) {
        if (typeof error.body.position === "number" && !drawn.checked) field.fail(error);
        replace(results, problemCard(error, () => void ask()));
      } else {
        replace(results);
        announce("Stopped");
      }
    } finally {
      if (control === running) results.removeAttribute("aria-busy");
    }
  }

  /** Show the answer; what comes back takes the exact values when they are there. */
  function show(found: HeatAnswer, body: unknown, permalink: string): ((exact: number[][] | null) => void) | null {
    const check = found.verification;
    if (!check) return null;
    let exact: number[][] | null = null;
    const profile = h("div", { class: "plot", role: "img", "aria-label": "Temperature along x at the chosen time, predicted and exact" });
    const wrong = h("div", { class: "plot small", role: "img", "aria-label": "Difference between prediction and exact values along x" });
    const slider = h("input", { type: "range", min: 0, max: found.times.length - 1, value: 0, step: 1, "aria-label": "Time" });
    const clock = h("output", {});
    const play = h("button", { type: "button" }, "Play");
    const all = found.u.flat();
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const pad = 0.06 * (high - low) || 0.5;
    const error = (k: number) => found.u[k].map((v, q) => (exact?.[k] ? v - exact[k][q] : null));
    const data = (k: number) => [found.x, found.u[0], found.u[k], exact?.[k] ?? found.x.map(() => null)] as uPlot.AlignedData;
    const map = spaceTime(found.x, found.times, found.u, (k) => choose(k));
    const wrongNote = h("p", { class: "note" }, "Computing the exact values…");
    let profiles: uPlot | null = null;
    let errors: uPlot | null = null;
    let timer = 0;

    function choose(k: number): void {
      slider.value = String(k);
      clock.textContent = `t = ${significant(found.times[k], 4)}`;
      slider.setAttribute("aria-valuetext", clock.textContent);
      profiles?.setData(data(k));
      errors?.setData([found.x, error(k)] as uPlot.AlignedData);
      map.mark(k);
    }
    slider.addEventListener("input", () => choose(slider.valueAsNumber));
    play.addEventListener("click", () => {
      if (timer) stop();
      else {
        play.textContent = "Pause";
        timer = window.setInterval(() => {
          if (!slider.isConnected || slider.valueAsNumber >= found.times.length - 1) stop();
          else choose(slider.valueAsNumber + 1);
        }, 90);
        if (slider.valueAsNumber >= found.times.length - 1) choose(0);
      }
    });
    const stop = () => {
      clearInterval(timer);
      timer = 0;
      play.textContent = "Play";
    };

    const by = found.source === "model" ? `Transformer ${found.model?.name ?? ""} ${found.model?.version ?? ""}` : "Exact formulas";
    const deviation = check.max_abs.filter((v): v is number => v !== null);
    const parts: Child[] = [
      h("div", { class: "card-head" }, h("h2", {}, "Answer"), badge(check.status, check.status === "numeric" ? "Checked against exact values" : undefined)),
      found.closed_form && formula(`u(x, t) ${found.closed_form.exact ? "=" : "\\approx"} ${found.closed_form.latex}`, `u(x, t) = ${found.closed_form.text}`, "formula answer"),
      found.closed_form && !found.closed_form.exact && h("p", { class: "note" }, `The first ${found.closed_form.terms} terms of the series.`),
      h("dl", { class: "facts" },
        h("dt", {}, "Answered by"), h("dd", {}, by + (found.cached ? ", remembered" : "")),
        h("dt", {}, "Checked by"), h("dd", {}, check.method),
        h("dt", {}, "Largest error"), h("dd", {}, deviation.length ? significant(Math.max(...deviation), 2) : "not compared"),
        ...(check.maximum_principle === null ? [] : [h("dt", {}, "Maximum principle"), h("dd", {}, check.maximum_principle ? "holds" : "violated")]),
        h("dt", {}, "Time"), h("dd", {}, timings(found.timing_ms))),
      ...found.input.notes.map((note) => h("p", { class: "note" }, note)),
      copyButtons([
        ...(found.closed_form ? ([
          ["LaTeX", () => found.closed_form?.latex ?? ""],
          ["SymPy", () => sympyCode(found.closed_form?.text ?? "", ["x", "t"])],
        ] as [string, () => string][]) : []),
        ["CSV", () => table(found)],
        ["curl", () => curl("/pde/heat", body)],
        ["link", () => permalink],
      ]),
    ];
    replace(results,
      h("section", { class: "card", "aria-label": "Answer" }, ...parts),
      h("section", { class: "card", "aria-label": "Time" }, h("div", { class: "time" }, play, slider, clock)),
      h("div", { class: "heat-grid" },
        h("section", { class: "card", "aria-label": "Profiles" }, h("h3", {}, "Profile"), profile),
        h("section", { class: "card", "aria-label": "Space and time" }, h("h3", {}, "Space and time"), map.element)),
      h("section", { class: "card", "aria-label": "Error" }, h("h3", {}, "Prediction minus exact"),
        wrongNote, wrong));
    const scales = { x: { time: false } };
    profiles = new uPlot({
      width: Math.max(260, profile.clientWidth), height: 300, axes: axes("x", "u"),
      series: [{ label: "x", value: (_, v) => significant(v ?? 0, 4) }, line("start", "--muted", [2, 3], 1.5), line("predicted", "--curve-1", undefined, 3), line("exact", "--curve-2", [7, 5])],
      scales: { ...scales, y: { range: () => [low - pad, high + pad] } }, cursor: { drag: { x: false, y: false } },
    }, data(0), profile);
    register(profiles, profile);
    choose(Math.floor(found.times.length / 3));
    return (values) => {
      if (!wrong.isConnected) return;
      exact = values;
      wrongNote.textContent = values ? "" : "The exact values were not found in time.";
      if (!values) return;
      errors = new uPlot({
        width: Math.max(260, wrong.clientWidth), height: 180, axes: axes("x"),
        series: [{ label: "x", value: (_, v) => significant(v ?? 0, 4) }, line("error", "--curve-3")],
        scales: { ...scales, y: { range: (_, a, b) => { const most = Math.max(Math.abs(a ?? 0), Math.abs(b ?? 0), 1e-16); return [-1.1 * most, 1.1 * most]; } } },
        cursor: { drag: { x: false, y: false } },
      }, [found.x, error(0)] as uPlot.AlignedData, wrong);
      register(errors, wrong);
      choose(slider.valueAsNumber);
    };
  }

  const examples = h("div", { class: "examples", role: "group", "aria-label": "Examples" }, h("span", { "aria-hidden": "true" }, "Try"),
    ...EXAMPLES.map((example) => h("button", { type: "button", class: "chip", onclick: () => tab.open(new URLSearchParams(example)) },
      example.e + (example.kind ? `, ${example.kind}` : "") + (example.left ? `, ${example.left} at the left` : ""))));
  panel.append(
    h("form", { class: "card question", onsubmit: (event: Event) => { event.preventDefault(); void ask(); } },
      h("fieldset", {}, h("legend", {}, "Initial condition"), h("div", { class: "choices" }, typedLabel, drawnLabel), field.element, drawBox),
      h("div", { class: "fields" }, labelled("Boundary", kind),
        leftKind, leftField, rightKind, rightField, labelled("α", alpha), labelled("Length", length),
        labelled("Until t =", last), labelled("Source f(x, t)", source), labelled("Who answers", engine),
        h("button", { type: "submit", class: "primary" }, "Solve")),
      examples),
    results);
  ends();

  const tab: Tab = {
    open(given) {
      const set = (input: HTMLInputElement | HTMLSelectElement, name: string, usual: string) => { input.value = given.get(name) ?? usual; if (!input.value) input.value = usual; };
      set(kind, "kind", "dirichlet");
      set(left, "left", "0");
      set(right, "right", "0");
      set(alpha, "alpha", "1");
      set(length, "L", "1");
      set(last, "T", "0.1");
      set(source, "source", "0");
      set(engine, "engine", "auto");
      const [a, b] = (given.get("ends") ?? "u u_x").split(" ");
      leftKind.value = a;
      rightKind.value = b;
      const sketched = given.get("u");
      (sketched ? drawn : typed).checked = true;
      mode();
      if (sketched && sketch) {
        sketched.split(".").forEach((v, i) => { if (sketch && i < sketch.values.length && Number.isFinite(Number(v))) sketch.values[i] = Number(v) / 100; });
        sketch.redraw();
      }
      field.input.value = given.get("e") ?? "";
      field.refresh();
      ends();
      if (sketched || field.input.value) void ask();
    },
    focus: () => (drawn.checked ? sketch?.element : field.input)?.focus(),
  };
  return tab;
}

/** Exact formulas alone, as a table: no closed form is written for it, so it is quick. */
async function exactValues(body: Record<string, unknown>, signal: AbortSignal): Promise<number[][]> {
  const text = await postText("/pde/heat", { ...body, engine: "spectral" }, "text/csv", signal);
  const rows = text.trim().split(/\r?\n/).slice(1).map((row) => row.split(",").map(Number));
  return rows[0].slice(1).map((_, k) => rows.map((row) => row[k + 1]));
}

function table(found: HeatAnswer): string {
  const head = ["x", ...found.times.map((t) => `t=${t}`)].join(",");
  return [head, ...found.x.map((x, q) => [x, ...found.u.map((row) => row[q])].join(","))].join("\n");
}
