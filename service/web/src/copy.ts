import { announce, h } from "./dom";

/** Buttons that put texts on the clipboard; each says that it has. */
export function copyButtons(texts: [string, () => string][]): HTMLElement {
  return h("div", { class: "copy", role: "group", "aria-label": "Copy" },
    h("span", { "aria-hidden": "true" }, "Copy"),
    ...texts.map(([name, text]) => {
      const button = h("button", { type: "button", "aria-label": `Copy ${name}`, onclick: () => void copy() }, name);
      async function copy(): Promise<void> {
        const done = await write(text());
        button.textContent = done ? "Copied" : "Not allowed";
        announce(done ? `${name} copied` : "The browser does not allow copying");
        setTimeout(() => { button.textContent = name; }, 1500);
      }
      return button;
    }));
}

async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // plain http on another machine has no clipboard interface
    const area = h("textarea", { "aria-hidden": "true", class: "visually-hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** A program that makes the answer a SymPy expression. */
export function sympyCode(text: string, symbols: string[]): string {
  const names = [...new Set(text.match(/[A-Za-z_]\w*/g) ?? [])].filter((name) => symbols.includes(name));
  const declared = names.length ? `${names.join(", ")} = symbols("${names.join(" ")}", real=True)\n` : "";
  return `from sympy import *\n\n${declared}answer = ${text}\n`;
}
