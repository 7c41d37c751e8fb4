import "katex/dist/katex.css";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { type Tab, calculusTab } from "./calculus";
import { byId } from "./dom";
import { heatTab } from "./heat";
import { history } from "./history";
import { recolour } from "./plot";
import { themes } from "./theme";

const NAMES = ["differentiate", "integrate", "heat"] as const;
type Name = (typeof NAMES)[number];

const go = (name: string, parameters: URLSearchParams) => {
  location.hash = `#${name}?${parameters}`;
};
const tabs: Record<Name, Tab> = {
  differentiate: calculusTab("differentiate", byId("panel-differentiate"), go),
  integrate: calculusTab("integrate", byId("panel-integrate"), go),
  heat: heatTab(byId("panel-heat")),
};

function select(name: Name): void {
  for (const other of NAMES) {
    const chosen = other === name;
    const tab = byId(`tab-${other}`);
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    byId(`panel-${other}`).hidden = !chosen;
  }
}

for (const [i, name] of NAMES.entries()) {
  const tab = byId(`tab-${name}`);
  tab.addEventListener("click", () => {
    select(name);
    window.history.replaceState(null, "", `#${name}`);
    tabs[name].focus();
  });
  tab.addEventListener("keydown", (event) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };
    const target = event.key === "Home" ? 0 : event.key === "End" ? NAMES.length - 1
      : event.key in steps ? (i + steps[event.key] + NAMES.length) % NAMES.length : null;
    if (target === null) return;
    event.preventDefault();
    select(NAMES[target]);
    byId(`tab-${NAMES[target]}`).focus();
  });
}

/** Show what the address says: #integrate?e=…&a=0&b=1 */
function route(): void {
  const [name, query = ""] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
  const known = NAMES.find((one) => one === name) ?? "differentiate";
  select(known);
  const parameters = new URLSearchParams(query);
  if ([...parameters].length) tabs[known].open(parameters);
  else if (!name) tabs[known].focus();
}

history();
themes(() => { recolour(); dispatchEvent(new Event("calcert-colours")); });
addEventListener("hashchange", route);
route();
