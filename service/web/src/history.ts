// Questions asked in this browser; they stay in it.
import { byId, h, replace } from "./dom";

export interface Entry { hash: string; title: string; answer: string; when: number }
const KEY = "calcert-history";
const MOST = 50;

function entries(): Entry[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? (kept as Entry[]) : [];
  } catch {
    return [];
  }
}

function keep(list: Entry[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(list.slice(0, MOST)));
  } catch {
    // a full or forbidden storage costs the history, nothing else
  }
}

export function remember(entry: Omit<Entry, "when">): void {
  keep([{ ...entry, when: Date.now() }, ...entries().filter((old) => old.hash !== entry.hash)]);
  if (!byId("history").hidden) show();
}

function show(): void {
  const list = entries();
  replace(byId("history"),
    h("div", { class: "history-head" }, h("h2", {}, "History"),
      list.length > 0 && h("button", { type: "button", onclick: () => { keep([]); show(); } }, "Clear")),
    list.length
      ? h("ol", {}, ...list.map((entry) => h("li", {}, h("a", { href: entry.hash }, entry.title), h("span", {}, entry.answer))))
      : h("p", {}, "Questions that you ask appear here. They stay in this browser."));
}

export function history(): void {
  const toggle = byId("history-toggle");
  const panel = byId("history");
  const set = (open: boolean) => {
    panel.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    if (open) show();
  };
  toggle.addEventListener("click", () => set(panel.hidden));
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    set(false);
    toggle.focus();
  });
}
