import katex from "katex";

/** Typeset into `target`; MathML beside the glyphs is what screen readers get. */
export function typeset(target: HTMLElement, latex: string, display = true): HTMLElement {
  try {
    katex.render(latex, target, { displayMode: display, throwOnError: true, strict: false, maxExpand: 1000 });
  } catch {
    target.textContent = latex;
  }
  return target;
}

/** A formula that scrolls sideways when it is wide; focusable, so that keys can scroll it. */
export function formula(latex: string, label: string, className = "formula"): HTMLElement {
  const box = document.createElement("div");
  box.className = className;
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", label);
  return typeset(box, latex);
}

export function inline(latex: string): HTMLElement {
  return typeset(document.createElement("span"), latex, false);
}
