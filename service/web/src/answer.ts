// The card with an answer: what it is, how sure, from whom, how long.
import { type Answer, type Formula, Problem, curl, setKey } from "./api";
import { type Child, h, labelled, milliseconds } from "./dom";
import { copyButtons, sympyCode } from "./copy";
import { formula, inline } from "./latex";

const BADGES: Record<string, [string, string]> = {
  proved: ["proved", "Proved"],
  numeric: ["numeric", "Checked to 30 digits"],
  refuted: ["unsolved", "Refuted"],
  unsolved: ["unsolved", "Not found"],
};

export function badge(status: string, words?: string): HTMLElement {
  const [kind, text] = BADGES[status] ?? BADGES.unsolved;
  return h("span", { class: `badge ${kind}` }, words ?? text);
}

/** What stands where the answer will be: what the badges promise. */
export function welcome(): HTMLElement {
  const row = (status: string, words: string) => [h("dt", {}, badge(status)), h("dd", {}, words)];
  return h("section", { class: "card", "aria-label": "What the badges mean" },
    h("p", {}, "Type a formula, or press an example. Every answer carries one of these:"),
    h("dl", { class: "facts badges" },
      ...row("proved", "A computer algebra proof shows that the answer is right."),
      ...row("numeric", "It agrees to 30 digits at many points; no proof was found in time."),
      ...row("unsolved", "Nothing could be verified, so no answer is given. There are no guesses.")));
}

export interface Shown {
  found: Answer;
  /** LaTeX of the question, to stand left of the equals sign. */
  question: string;
  address: string;
  body: unknown;
  symbols: string[];
  permalink: string;
}

export function answerCard({ found, question, address, body, symbols, permalink }: Shown): HTMLElement {
  const solved = found.status === "solved";
  const parts: Child[] = [
    h("div", { class: "card-head" }, h("h2", {}, "Answer"), badge(solved ? (found.verification?.status ?? "unsolved") : "unsolved")),
  ];
  const constant = found.constant ? ` + ${found.constant}` : "";
  if (found.answer) {
    parts.push(formula(`${question} = ${found.answer.latex}${constant}`, `Answer: ${found.answer.text}${constant}`, "formula answer"));
  } else if (!solved) {
    parts.push(h("p", { class: "mistake" }, `Nothing that could be verified was found: ${found.reason ?? ""}.`));
  } else {
    parts.push(h("p", {}, "The integral has no value."));
  }
  if (found.convergence === "divergent") parts.push(h("p", { class: "warning" }, "The integral diverges."));
  if (found.principal_value) parts.push(h("p", {}, "Cauchy principal value: ", inline(found.principal_value.latex)));
  if (found.value !== null && found.value !== undefined) {
    const error = found.error_estimate ? ` ± ${found.error_estimate.toPrecision(1)}` : "";
    parts.push(h("p", { class: "value" }, "≈ ", h("output", {}, `${found.value}${error}`), found.convergence === "improper" && " (improper integral)"));
  }
  const assumptions = [...new Set([...(found.assumptions ?? []), ...(found.verification?.assumptions ?? [])])];
  if (assumptions.length) parts.push(h("p", {}, `Holds where ${assumptions.join(", ")}.`));
  for (const one of found.cases ?? []) {
    parts.push(h("p", { class: "case" }, `If ${one.condition}: `, one.answer && inline(one.answer.latex + constant), one.note && ` ${one.note}`));
  }
  if (found.functions?.length) parts.push(h("p", { class: "note" }, `Not elementary: ${found.functions.join(", ")}.`));
  parts.push(provenance(found));
  if (found.answer) {
    const answer: Formula = found.answer;
    parts.push(copyButtons([
      ["LaTeX", () => answer.latex + constant],
      ["SymPy", () => sympyCode(answer.text, symbols)],
      ["text", () => answer.text + constant],
      ["curl", () => curl(address, body)],
      ["link", () => permalink],
    ]));
  } else {
    parts.push(copyButtons([["curl", () => curl(address, body)], ["link", () => permalink]]));
  }
  return h("section", { class: "card", "aria-label": "Answer" }, ...parts);
}

function provenance(found: Answer): HTMLElement {
  const source = found.source === "model" ? `Transformer ${found.model?.name ?? ""} ${found.model?.version ?? ""}` : found.source === "sympy" ? "SymPy" : "nobody";
  return h("dl", { class: "facts" },
    ...(found.source ? [h("dt", {}, "Answered by"), h("dd", {}, source + (found.cached ? ", remembered" : ""))] : []),
    ...(found.verification ? [h("dt", {}, "Checked by"), h("dd", {}, found.verification.method)] : []),
    h("dt", {}, "Time"), h("dd", {}, timings(found.timing_ms)));
}

/** How long each stage took, as words and as a bar. */
export function timings(times: Record<string, number>): HTMLElement {
  const total = times.total ?? Object.values(times).reduce((sum, ms) => sum + ms, 0);
  const stages = Object.entries(times).filter(([name, ms]) => name !== "total" && ms > 0);
  return h("span", { class: "timings" }, h("strong", {}, milliseconds(total)),
    ...stages.map(([name, ms]) => h("span", { class: `stage stage-${name}` }, `${name} ${milliseconds(ms)}`)));
}

/** What went wrong; where a key is needed, a field for it. */
export function problemCard(problem: Problem, again: () => void): HTMLElement {
  const { title, detail, hint, errors, status } = problem.body;
  const key = h("input", { type: "password", autocomplete: "off" });
  return h("section", { class: "card problem", role: "alert" },
    h("h2", {}, title), h("p", {}, detail),
    hint ? h("p", { class: "hint" }, hint) : null,
    status === 401 && h("form", { class: "fields", onsubmit: (event: Event) => {
      event.preventDefault();
      setKey(key.value);
      again();
    } }, labelled("API key", key), h("button", { type: "submit" }, "Use it")),
    errors && errors.length > 1 ? h("ul", {}, ...errors.map((e) => h("li", {}, `${e.field}: ${e.message}`))) : null);
}
