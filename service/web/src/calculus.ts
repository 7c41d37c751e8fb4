// The tabs Differentiate and Integrate.
import { type Answer, Problem, type Parsed, post } from "./api";
import { answerCard, problemCard, welcome } from "./answer";
import { announce, debounce, h, labelled, options, replace } from "./dom";
import { formulaField } from "./field";
import { remember } from "./history";
import { plotCard } from "./plot";
import { stepsCard } from "./steps";

export interface Tab {
  /** Fill the form from a permanent link and ask. */
  open: (parameters: URLSearchParams) => void;
  focus: () => void;
}
type Task = "differentiate" | "integrate";
type Example = Record<string, string>;

const EXAMPLES: Record<Task, Example[]> = {
  differentiate: [
    { e: "sin(exp(x^2))" }, { e: "x^x" }, { e: "a t^2 e^{-k t}", v: "t" }, { e: "\\frac{\\ln x}{1+x^2}" },
    { e: "arctan(sqrt(x))", n: "2" }, { e: "|sin x|" },
  ],
  integrate: [
    { e: "x^2 e^x" }, { e: "1/(x^4+1)" }, { e: "sin^3 x cos x" }, { e: "\\frac{1}{2+\\cos x}", a: "0", b: "2pi" },
    { e: "exp(-x^2)", a: "-oo", b: "oo" }, { e: "ln(x)/x" },
  ],
};

export function calculusTab(task: Task, panel: HTMLElement, go: (tab: string, parameters: URLSearchParams) => void): Tab {
  const variable = h("input", { type: "text", class: "short", placeholder: "auto", autocomplete: "off", spellcheck: "false", maxlength: 64 });
  const order = h("input", { type: "number", class: "short", min: 1, max: 10, value: 1 });
  const lower = h("input", { type: "text", class: "short", placeholder: "none", autocomplete: "off", spellcheck: "false", maxlength: 500 });
  const upper = h("input", { type: "text", class: "short", placeholder: "none", autocomplete: "off", spellcheck: "false", maxlength: 500 });
  const engine = h("select", {}, ...options([["auto", "Model, then SymPy"], ["model", "Model only"], ["sympy", "SymPy only"]], "auto"));
  const results = h("div", { class: "results" }, welcome());
  const submit = h("button", { type: "submit", class: "primary" }, task === "differentiate" ? "Differentiate" : "Integrate");
  let running: AbortController | null = null;

  const field = formulaField({
    label: task === "differentiate" ? "Function" : "Integrand",
    placeholder: task === "differentiate" ? "sin(exp(x^2)) or \\frac{\\ln x}{x}" : "x^2 e^x or \\int_0^1 x^2\\,dx",
    fields: () => ({ task, ...choices() }),
    onvariable: (name) => {
      variable.value = name;
      field.refresh();
      void ask();
    },
    onswitch: (tab) => go(tab, new URLSearchParams({ e: field.input.value })),
  });
  for (const control of [variable, order, lower, upper]) control.addEventListener("input", debounce(150, field.refresh));

  function choices(): Record<string, unknown> {
    const chosen: Record<string, unknown> = {};
    if (variable.value.trim()) chosen.variable = variable.value.trim();
    if (task === "differentiate") {
      if (order.value !== "1" && order.value !== "") chosen.order = order.valueAsNumber;
    } else {
      if (lower.value.trim()) chosen.lower = lower.value.trim();
      if (upper.value.trim()) chosen.upper = upper.value.trim();
    }
    return chosen;
  }

  function hash(): string {
    const parameters = new URLSearchParams({ e: field.input.value });
    if (variable.value.trim()) parameters.set("v", variable.value.trim());
    if (task === "differentiate" && order.value !== "1") parameters.set("n", order.value);
    if (task === "integrate" && lower.value.trim()) parameters.set("a", lower.value.trim());
    if (task === "integrate" && upper.value.trim()) parameters.set("b", upper.value.trim());
    if (engine.value !== "auto") parameters.set("engine", engine.value);
    return `#${task}?${parameters}`;
  }

  async function ask(): Promise<void> {
    const expression = field.input.value;
    if (!expression.trim()) {
      field.input.focus();
      return;
    }
    running?.abort();
    const control = (running = new AbortController());
    const body: Record<string, unknown> = { expression, ...choices() };
    if (engine.value !== "auto") body.engine = engine.value;
    const address = `/${task}`;
    results.setAttribute("aria-busy", "true");
    const doing = h("p", {}, "Asking…");
    const waiting = (why: string) => { doing.textContent = why; };
    replace(results, h("section", { class: "card working" }, doing,
      h("button", { type: "button", onclick: () => control.abort() }, "Stop")));
    try {
      const [found, parsed] = await Promise.all([
        post<Answer>(address, body, control.signal, waiting),
        field.parse(),
      ]);
      const here = hash();
      window.history.replaceState(null, "", here);
      show(found, parsed, body, here);
    } catch (error) {
      if (control !== running) return;
      if (error instanceof Problem) {
        const understood = error.body.code || error.body.symbols || error.slug === "wrong-task";
        if (understood) {
          field.fail(error);
          field.input.focus();
        }
        replace(results, problemCard(error, () => void ask()));
      } else {
        replace(results);
        announce("Stopped");
      }
    } finally {
      if (control === running) results.removeAttribute("aria-busy");
    }
  }

  function show(found: Answer, parsed: Parsed, body: Record<string, unknown>, here: string): void {
    const name = parsed.input.variable;
    const solved = found.answer ? found.answer.text : found.status === "solved" ? "diverges" : "not found";
    const definite = parsed.interval !== null;
    const curves = [{ label: "f", expression: parsed.input.text }];
    if (found.answer && !definite) curves.push({ label: task === "differentiate" ? "derivative" : "antiderivative", expression: found.answer.text });
    replace(results,
      answerCard({
        found, question: parsed.question.latex, address: `/${task}`, body, symbols: [...parsed.symbols, name],
        permalink: location.href.split("#")[0] + here,
      }),
      plotCard({ curves, variable: name, range: view(parsed), shade: definite ? shade(parsed) : undefined }),
      found.answer && stepsCard({ task, expression: body.expression, ...choices() }));
    remember({ hash: here, title: parsed.question.text, answer: solved });
    announce(found.answer ? `Answer: ${found.answer.text}. ${found.verification?.status === "proved" ? "Proved" : "Checked"}.` : `Answer: ${solved}`);
  }

  const examples = h("div", { class: "examples", role: "group", "aria-label": "Examples" },
    h("span", { "aria-hidden": "true" }, "Try"),
    ...EXAMPLES[task].map((example) =>
      h("button", { type: "button", class: "chip", onclick: () => tab.open(new URLSearchParams(example)) }, title(example))));
  const form = h("form", { class: "card question", onsubmit: (event: Event) => { event.preventDefault(); void ask(); } },
    field.element,
    h("div", { class: "fields" },
      labelled("Variable", variable),
      ...(task === "differentiate" ? [labelled("Order", order)] : [labelled("From", lower), labelled("To", upper)]),
      labelled("Who answers", engine), submit),
    examples);
  panel.append(form, results);

  const tab: Tab = {
    open(parameters) {
      field.input.value = parameters.get("e") ?? "";
      variable.value = parameters.get("v") ?? "";
      order.value = parameters.get("n") ?? "1";
      lower.value = parameters.get("a") ?? "";
      upper.value = parameters.get("b") ?? "";
      engine.value = parameters.get("engine") ?? "auto";
      if (!engine.value) engine.value = "auto";
      field.refresh();
      if (field.input.value) void ask();
    },
    focus: () => field.input.focus(),
  };
  return tab;
}

function title(example: Example): string {
  const bounds = example.a ? `, ${example.a} to ${example.b}` : "";
  return example.e + bounds + (example.n ? `, order ${example.n}` : "");
}

function view(parsed: Parsed): [number, number] {
  if (!parsed.interval) return [-5, 5];
  const { lower, upper } = parsed.interval;
  if (lower !== null && upper !== null && lower !== upper) {
    const pad = 0.2 * Math.abs(upper - lower);
    return [Math.min(lower, upper) - pad, Math.max(lower, upper) + pad];
  }
  if (lower !== null) return [lower - 1, lower + 9];
  if (upper !== null) return [upper - 9, upper + 1];
  return [-5, 5];
}

function shade(parsed: Parsed): [number, number] {
  return [parsed.interval?.lower ?? -1e300, parsed.interval?.upper ?? 1e300];
}
