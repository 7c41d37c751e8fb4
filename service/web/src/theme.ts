import { byId } from "./dom";

const NEXT: Record<string, string> = { auto: "light", light: "dark", dark: "auto" };
const NAMES: Record<string, [string, string]> = {
  auto: ["Auto", "Auto: colours as the system says"],
  light: ["Light", "Light colours"],
  dark: ["Dark", "Dark colours"],
};

/** Light, dark or as the system says; `changed` is called after each change. */
export function themes(changed: () => void): void {
  const button = byId("theme");
  const show = (theme: string) => {
    document.documentElement.dataset.theme = theme;
    [button.textContent, button.ariaLabel] = NAMES[theme];
    changed();
  };
  button.addEventListener("click", () => {
    const theme = NEXT[document.documentElement.dataset.theme ?? "auto"];
    localStorage.setItem("calcert-theme", theme);
    show(theme);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  const kept = localStorage.getItem("calcert-theme") ?? "auto";
  show(kept in NEXT ? kept : "auto");
}
