import { Problem, type Steps, post } from "./api";
import { announce, h, replace } from "./dom";
import { formula } from "./latex";

const CHECKS: Record<string, [string, string]> = {
  proved: ["✓", "proved"],
  numeric: ["≈", "checked to 30 digits"],
  unchecked: ["", "not checked in time"],
};

/** A card that fetches the derivation when it is opened. */
export function stepsCard(body: Record<string, unknown>): HTMLElement {
  const content = h("div", { class: "steps" });
  let asked = false;
  const card = h("details", { class: "card steps-card" }, h("summary", {}, h("h3", {}, "Steps")), content);
  card.addEventListener("toggle", () => {
    if (card.open && !asked) {
      asked = true;
      void load();
    }
  });
  async function load(): Promise<void> {
    replace(content, h("p", { class: "working" }, "Deriving and checking…"));
    try {
      const steps = await post<Steps>("/steps", body);
      replace(content, ...steps.sections.flatMap((section) => [
        h("h4", {}, section.title),
        h("ol", {}, ...section.steps.map((step) => {
          const [sign, words] = CHECKS[step.check] ?? CHECKS.unchecked;
          return h("li", { class: `depth-${Math.min(step.depth, 6)}` },
            h("div", { class: "rule" }, h("span", {}, step.rule),
              h("span", { class: `check ${step.check}`, title: words }, h("span", { "aria-hidden": "true" }, sign), h("span", { class: "visually-hidden" }, words))),
            formula(step.latex, step.rule));
        })),
      ]), ...steps.notes.map((note) => h("p", { class: "note" }, note)));
      announce("Steps shown");
    } catch (error) {
      asked = false;
      replace(content, h("p", { class: "mistake" }, error instanceof Problem ? error.message : "The steps could not be shown."));
    }
  }
  return card;
}
