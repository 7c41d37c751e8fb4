// Curves over an interval, sampled by the service, zoomable by mouse, touch and keys.
import uPlot from "uplot";
import { Problem, type Sampled, post } from "./api";
import { colour, debounce, h, replace, significant } from "./dom";

export interface Curve { label: string; expression: string }
export interface PlotOptions {
  curves: Curve[];
  variable: string;
  range: [number, number];
  /** The first curve is shaded between these. */
  shade?: [number, number];
}

const POINTS = 701;
const live = new Set<uPlot>();

/** Draw again in the colours of now. */
export function recolour(): void {
  for (const plot of live) {
    if (plot.root.isConnected) plot.redraw(false, true);
    else live.delete(plot);
  }
}

/** Tick labels, all in one form: plain while that is short, else with a power of ten, as 2.5e−6. */
function labels(ticks: number[], step: number): string[] {
  // what rounding left of a zero is a zero
  const values = ticks.map((tick) => (Math.abs(tick) < 1e-6 * step ? 0 : Number(tick.toPrecision(15))));
  const written = (form: (value: number) => string) => values.map((value) => (value ? form(value).replace("e+", "e").replace(/-/g, "−") : "0"));
  const longest = (texts: string[]) => Math.max(0, ...texts.map((text) => text.length));
  const [plain, powers] = [written(String), written((value) => value.toExponential())];
  return longest(plain) <= Math.max(6, longest(powers)) ? plain : powers;
}

// uPlot's own steps end at 10³², and a graph that goes further would have no labels
const STEPS = Array.from({ length: 340 }, (_, i) => [1, 2, 2.5, 5].map((first) => Number(`${first}e${i - 32}`))).flat();
const LABEL_FONT = "12px system-ui, sans-serif";
const ruler = document.createElement("canvas").getContext("2d");

/** What the labels of a y axis take, its ticks and gap included. */
function room(texts: string[] | null): number {
  if (!ruler) return 58;
  ruler.font = LABEL_FONT;
  return Math.max(58, ...(texts ?? []).map((text) => Math.ceil(ruler.measureText(text).width) + 18));
}

export function axes(xLabel: string, yLabel?: string): uPlot.Axis[] {
  const axis: uPlot.Axis = {
    stroke: () => colour("--muted"), grid: { stroke: () => colour("--grid"), width: 1 }, ticks: { stroke: () => colour("--grid"), width: 1 },
    font: LABEL_FONT, values: (_, ticks, _axis, _space, step) => labels(ticks, step),
  };
  return [
    { ...axis, label: xLabel, labelSize: 16, labelGap: 0, size: 34, labelFont: "italic 13px system-ui, sans-serif" },
    { ...axis, incrs: STEPS, size: (_, texts) => room(texts), ...(yLabel ? { label: yLabel, labelSize: 18, labelFont: LABEL_FONT } : {}) },
  ];
}

export function line(label: string, variable: string, dash?: number[], width = 2): uPlot.Series {
  return { label, stroke: () => colour(variable), width, dash, points: { show: false }, value: (_, v) => (v === null || v === undefined ? "–" : significant(v, 5)) };
}

export function register(plot: uPlot, box: HTMLElement): void {
  live.add(plot);
  new ResizeObserver(() => {
    const width = box.clientWidth;
    if (width > 0 && Math.abs(width - plot.width) > 1) plot.setSize({ width, height: plot.height });
  }).observe(box);
}

/** A range that shows the curves and not only their poles. */
function visible(values: (number | null)[][]): [number, number] {
  const finite = values.flat().filter((v): v is number => v !== null).sort((a, b) => a - b);
  if (!finite.length) return [-1, 1];
  const at = (share: number) => finite[Math.min(finite.length - 1, Math.floor(share * finite.length))];
  let [low, high] = [finite[0], finite[finite.length - 1]];
  const [near, far] = [at(0.05), at(0.95)];
  const spread = far - near || Math.abs(far) || 1;
  low = Math.max(low, near - 1.5 * spread);
  high = Math.min(high, far + 1.5 * spread);
  // what differs by rounding alone is constant, and has no room for steps between
  const constant = high - low < 1e-12 * Math.max(Math.abs(low), Math.abs(high));
  const pad = (constant ? 0 : 0.06 * (high - low)) || 0.5 * Math.abs(high) || 1;
  return [low - pad, high + pad];
}

/** Nothing is drawn from one side of a pole to the other. */
function broken(values: (number | null)[], [low, high]: [number, number]): (number | null)[] {
  return values.map((value, i) => {
    const before = i ? values[i - 1] : null;
    const jump = value !== null && before !== null && before !== undefined && Math.abs(value - before) > high - low;
    return jump && Math.sign(value) !== Math.sign(before) ? null : value;
  });
}

export function plotCard(options: PlotOptions): HTMLElement {
  const box = h("div", { class: "plot", role: "img", "aria-label": `Graph of ${options.curves.map((c) => c.label).join(" and ")}` });
  const note = h("p", { class: "note" });
  const controls = h("div", { class: "plot-controls", role: "group", "aria-label": "View of the graph" });
  const parameters = h("div", { class: "parameters" });
  const given: Record<string, number> = {};
  let [from, to] = options.range;
  let plot: uPlot | null = null;
  let y: [number, number] = [-1, 1];
  let asked = 0;

  async function draw(): Promise<void> {
    const mine = ++asked;
    let sampled: Sampled;
    try {
      sampled = await post<Sampled>("/sample", {
        expressions: options.curves.map((curve) => curve.expression),
        variable: options.variable, lower: from, upper: to, points: POINTS, parameters: given,
      });
    } catch (error) {
      if (error instanceof Problem && mine === asked) note.textContent = `No graph: ${error.message}`;
      return;
    }
    if (mine !== asked) return;
    const known = sampled.curves.map((curve) => curve.values ?? sampled.x.map(() => null));
    y = visible(known);
    const data: (number | null)[][] = [sampled.x, ...known.map((values) => broken(values, y))];
    if (options.shade) {
      const [a, b] = [Math.min(...options.shade), Math.max(...options.shade)];
      const area = data[1].map((value, i) => (sampled.x[i] >= a && sampled.x[i] <= b ? value : null));
      data.push(area);
      // an area goes down, or up, to the x axis
      if (area.some((value) => value !== null)) y = [Math.min(0, y[0]), Math.max(0, y[1])];
    }
    note.textContent = sampled.curves.map((c, i) => c.reason && `${options.curves[i].label}: ${c.reason}`).filter(Boolean).join("; ");
    showParameters(sampled.parameters);
    if (plot) plot.setData(data as uPlot.AlignedData);
    else create(data as uPlot.AlignedData);
  }

  function showParameters(values: Record<string, number>): void {
    if (parameters.childElementCount || !Object.keys(values).length) return;
    replace(parameters, h("span", {}, "Drawn with"), ...Object.entries(values).map(([name, value]) => {
      const input = h("input", { type: "number", step: "any", value, onchange: () => {
        if (Number.isFinite(input.valueAsNumber)) given[name] = input.valueAsNumber;
        void draw();
      } });
      return h("label", {}, h("span", {}, `${name} =`), input);
    }));
  }

  function create(data: uPlot.AlignedData): void {
    const series: uPlot.Series[] = [{ label: options.variable, value: (_, v) => (v === null ? "–" : significant(v, 5)) },
      ...options.curves.map((curve, i) => line(curve.label, `--curve-${i + 1}`, i ? [7, 4] : undefined))];
    if (options.shade) series.push({ label: "area", stroke: "transparent", fill: () => colour("--area"), points: { show: false }, value: () => "" });
    plot = new uPlot({
      width: Math.max(280, box.clientWidth), height: 300,
      series, axes: axes(options.variable),
      scales: { x: { time: false, range: () => [from, to] }, y: { range: () => y } },
      cursor: { drag: { x: true, y: false, setScale: false } },
      hooks: { setSelect: [(u) => {
        if (u.select.width < 8) return;
        const a = u.posToVal(u.select.left, "x");
        const b = u.posToVal(u.select.left + u.select.width, "x");
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        move(a, b);
      }] },
    }, data, box);
    plot.over.addEventListener("dblclick", reset);
    plot.over.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      const centre = plot?.posToVal(event.offsetX, "x") ?? (from + to) / 2;
      const factor = event.deltaY + event.deltaX > 0 ? 1.25 : 0.8;
      move(centre - (centre - from) * factor, centre + (to - centre) * factor);
    }, { passive: false });
    register(plot, box);
  }

  const later = debounce(60, () => void draw());
  function move(a: number, b: number): void {
    if (!(b - a > 1e-9 * Math.max(1, Math.abs(a), Math.abs(b))) || Math.abs(a) > 1e12 || Math.abs(b) > 1e12) return;
    [from, to] = [a, b];
    box.dataset.range = `${from} ${to}`;
    later();
  }
  function reset(): void {
    move(...options.range);
  }
  const zoom = (factor: number) => move((from + to) / 2 - ((to - from) / 2) * factor, (from + to) / 2 + ((to - from) / 2) * factor);
  const pan = (share: number) => move(from + share * (to - from), to + share * (to - from));
  const button = (label: string, sign: string, action: () => void) =>
    h("button", { type: "button", "aria-label": label, title: label, onclick: action }, sign);
  replace(controls, button("Zoom in", "+", () => zoom(0.5)), button("Zoom out", "−", () => zoom(2)),
    button("Move left", "←", () => pan(-0.25)), button("Move right", "→", () => pan(0.25)), button("Reset the view", "Reset", reset));
  queueMicrotask(() => void draw());
  return h("section", { class: "card", "aria-label": "Graph" },
    h("div", { class: "card-head" }, h("h3", {}, "Graph"), controls), box,
    parameters, note, h("p", { class: "note" }, "Drag to zoom, double-click to reset, Shift and wheel to zoom at the pointer."));
}
