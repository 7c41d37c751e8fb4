// A curve drawn with the mouse, a finger or the arrow keys.
import { announce, colour, h, significant } from "./dom";

export const SAMPLES = 129;
const [LOW, HIGH] = [-1, 2];

export interface Drawing { element: HTMLElement; values: number[]; redraw: () => void; resize: () => void }

export function drawing(changed: () => void): Drawing {
  const values = Array.from({ length: SAMPLES }, (_, i) => Math.sin((Math.PI * i) / (SAMPLES - 1)));
  let cursor = Math.floor(SAMPLES / 2);
  let last: [number, number] | null = null;
  const canvas = h("canvas", {
    class: "draw", tabindex: 0, role: "application",
    "aria-label": "Initial condition, drawn. Left and right move along x, up and down change the value there, Home and End go to the ends.",
  });

  const place = (event: PointerEvent): [number, number] => {
    const { width, height } = canvas.getBoundingClientRect();
    const i = Math.round((event.offsetX / width) * (SAMPLES - 1));
    return [Math.min(SAMPLES - 1, Math.max(0, i)), HIGH - (event.offsetY / height) * (HIGH - LOW)];
  };
  const to = ([i, u]: [number, number]) => {
    const clamped = Math.min(HIGH, Math.max(LOW, u));
    const [from, before] = last ?? [i, clamped];
    const steps = Math.max(1, Math.abs(i - from));
    for (let k = 0; k <= steps; k++) {
      values[Math.round(from + ((i - from) * k) / steps)] = before + ((clamped - before) * k) / steps;
    }
    last = [i, clamped];
    redraw();
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = null;
    to(place(event));
  });
  canvas.addEventListener("pointermove", (event) => { if (last) to(place(event)); });
  const end = () => { if (last) { last = null; changed(); } };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("keydown", (event) => {
    const along: Record<string, number> = { ArrowLeft: cursor - 1, ArrowRight: cursor + 1, PageUp: cursor - 8, PageDown: cursor + 8, Home: 0, End: SAMPLES - 1 };
    const up: Record<string, number> = { ArrowUp: 0.1, ArrowDown: -0.1 };
    if (event.key in along) cursor = Math.min(SAMPLES - 1, Math.max(0, along[event.key]));
    else if (event.key in up) {
      // a soft brush, or a single sample would be a spike
      for (let i = 0; i < SAMPLES; i++) {
        values[i] = Math.min(HIGH, Math.max(LOW, values[i] + up[event.key] * Math.exp(-(((i - cursor) / 6) ** 2))));
      }
      changed();
    } else return;
    event.preventDefault();
    redraw();
    announce(`x ${significant(cursor / (SAMPLES - 1), 2)} of the length, u ${significant(values[cursor], 2)}`);
  });

  function redraw(): void {
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext("2d");
    if (!context) return;
    context.scale(ratio, ratio);
    const x = (i: number) => (i / (SAMPLES - 1)) * width;
    const y = (u: number) => ((HIGH - u) / (HIGH - LOW)) * height;
    context.strokeStyle = colour("--grid");
    context.fillStyle = colour("--muted");
    context.font = "11px system-ui, sans-serif";
    for (const level of [-1, 0, 1, 2]) {
      context.beginPath();
      context.moveTo(0, y(level));
      context.lineTo(width, y(level));
      context.stroke();
      context.fillText(String(level), 3, Math.min(height - 3, Math.max(11, y(level) - 3)));
    }
    context.strokeStyle = colour("--curve-1");
    context.lineWidth = 2;
    context.beginPath();
    values.forEach((u, i) => (i ? context.lineTo(x(i), y(u)) : context.moveTo(x(i), y(u))));
    context.stroke();
    if (document.activeElement === canvas) {
      context.fillStyle = colour("--curve-2");
      context.beginPath();
      context.arc(x(cursor), y(values[cursor]), 5, 0, 7);
      context.fill();
    }
  }
  canvas.addEventListener("focus", redraw);
  canvas.addEventListener("blur", redraw);
  new ResizeObserver(redraw).observe(canvas);
  addEventListener("calcert-colours", redraw);
  return { element: canvas, values, redraw, resize: redraw };
}
