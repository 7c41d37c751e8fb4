// An input for a formula, with how it is understood shown beneath while one types.
import { type Parsed, Problem, post } from "./api";
import { type Child, debounce, h, replace } from "./dom";
import { formula } from "./latex";

let serial = 0;

export interface FormulaField {
  element: HTMLElement;
  input: HTMLInputElement;
  /** How the input is understood; asked once for each input. Rejects with Problem. */
  parse: () => Promise<Parsed>;
  /** Show how the input is understood. */
  refresh: () => void;
  /** Show a problem under the input, as the preview does. */
  fail: (problem: Problem) => void;
}

interface Options {
  label: string;
  placeholder: string;
  /** Further fields of POST /parse. */
  fields: () => Record<string, unknown>;
  prefix?: string;
  onvariable?: (name: string) => void;
  onswitch?: (tab: string) => void;
}

export function formulaField(options: Options): FormulaField {
  const id = `formula-${serial++}`;
  const input = h("input", {
    id,
    class: "formula-input",
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    placeholder: options.placeholder,
    "aria-describedby": `${id}-preview`,
    maxlength: 4000,
  });
  const preview = h("div", { id: `${id}-preview`, class: "preview" });
  let last: { key: string; answer: Promise<Parsed> } | null = null;

  const field: FormulaField = {
    element: h("div", { class: "formula-field" }, h("label", { for: id }, options.label), input, preview),
    input,
    parse,
    refresh: () => void show(),
    fail,
  };

  function fail(problem: Problem): void {
    input.setAttribute("aria-invalid", "true");
    const { position, hint, symbols } = problem.body;
    const parts: Child[] = [];
    if (typeof position === "number") parts.push(caret(input.value, position));
    parts.push(h("p", { class: "mistake" }, sentence(problem.message)));
    if (hint && !symbols) parts.push(h("p", { class: "hint" }, sentence(hint)));
    if (symbols && options.onvariable) {
      parts.push(h("p", { class: "hint" }, "The variable is ",
        ...symbols.slice(0, 8).map((name) =>
          h("button", { type: "button", class: "chip", onclick: () => options.onvariable?.(name) }, name))));
    }
    const side = problem.slug === "relation" ? /^[^=<>]*[^=<>!]=\s*([^=<>]+)$/.exec(input.value) : null;
    if (side) parts.push(use(side[1]));
    const other = hint?.match(/POST \/(differentiate|integrate)/)?.[1];
    if (problem.slug === "wrong-task" && other && options.onswitch) {
      parts.push(h("button", { type: "button", class: "chip", onclick: () => options.onswitch?.(other) }, `Take it to ${other}`));
    }
    replace(preview, ...parts);
  }

  /** A press puts `text` in place of the input. */
  function use(text: string): HTMLElement {
    return h("button", { type: "button", class: "chip", onclick: () => {
      input.value = text;
      input.focus();
      void show();
    } }, `Use ${text}`);
  }

  function parse(): Promise<Parsed> {
    const body = { expression: input.value, ...options.fields() };
    const key = JSON.stringify(body);
    if (last?.key !== key) {
      const asked = { key, answer: post<Parsed>("/parse", body) };
      asked.answer.catch((error) => {
        // what was refused stays refused; a service that was gone may be back
        if (last === asked && !(error instanceof Problem && error.body.status)) last = null;
      });
      last = asked;
    }
    return last.answer;
  }

  async function show(): Promise<void> {
    if (!input.value.trim()) {
      last = null;
      input.removeAttribute("aria-invalid");
      replace(preview);
      return;
    }
    const answer = parse();
    const asked = last;
    try {
      const parsed = await answer;
      if (last !== asked) return;
      input.removeAttribute("aria-invalid");
      replace(preview, formula((options.prefix ?? "") + parsed.question.latex, `Understood as ${parsed.question.text}`, "understood"));
    } catch (error) {
      if (error instanceof Problem && (last === asked || last === null)) fail(error);
    }
  }

  input.addEventListener("input", debounce(150, () => void show()));
  return field;
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(capital) ? capital : `${capital}.`;
}

/** The source with a caret under the code point `position`, the neighbourhood of long ones. */
function caret(source: string, position: number): HTMLElement {
  const points = Array.from(source);
  const start = Math.max(0, position - 24);
  const shown = points.slice(start, start + 48).join("").replace(/\s/g, " ");
  return h("pre", { class: "caret", "aria-label": `Mistake at character ${position + 1}` },
    `${shown}\n${" ".repeat(position - start)}^`);
}
