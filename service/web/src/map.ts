// u over space and time as colours, times from top to bottom in the order of the answer.
import { h, significant } from "./dom";

// viridis at nine places: even in lightness and safe for the colour-blind
const STOPS = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"]
  .map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));

function shadeOf(share: number): number[] {
  const place = Math.min(1, Math.max(0, share)) * (STOPS.length - 1);
  const i = Math.min(STOPS.length - 2, Math.floor(place));
  return STOPS[i].map((c, k) => c + (STOPS[i + 1][k] - c) * (place - i));
}

export interface SpaceTime { element: HTMLElement; mark: (index: number) => void }

export function spaceTime(x: number[], times: number[], u: number[][], chosen: (index: number) => void): SpaceTime {
  const all = u.flat();
  const low = all.reduce((a, b) => Math.min(a, b), Infinity);
  const high = all.reduce((a, b) => Math.max(a, b), -Infinity);
  const canvas = h("canvas", { class: "map", role: "img", "aria-label": `u over x from ${significant(x[0])} to ${significant(x[x.length - 1])}, across, and t from 0 to ${significant(times[times.length - 1])}, downwards; from ${significant(low)} to ${significant(high)}` });
  const image = document.createElement("canvas");
  image.width = x.length;
  image.height = times.length;
  const pixels = new ImageData(x.length, times.length);
  all.forEach((value, i) => {
    const [r, g, b] = shadeOf((value - low) / (high - low || 1));
    pixels.data.set([r, g, b, 255], 4 * i);
  });
  image.getContext("2d")?.putImageData(pixels, 0, 0);
  let marked = 0;

  function draw(): void {
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext("2d");
    if (!context) return;
    context.scale(ratio, ratio);
    context.imageSmoothingEnabled = true;
    context.drawImage(image, 0, 0, width, height);
    const y = ((marked + 0.5) / times.length) * height;
    for (const [stroke, thick] of [["#000", 3], ["#fff", 1.5]] as const) {
      context.strokeStyle = stroke;
      context.lineWidth = thick;
      context.beginPath();
      context.moveTo(0, y);
      context.lineTo(width, y);
      context.stroke();
    }
    context.font = "11px system-ui, sans-serif";
    for (const share of [0, 0.5, 1]) {
      const i = Math.round(share * (times.length - 1));
      const words = `t = ${significant(times[i])}`;
      const at = share === 0 ? 14 : share === 1 ? height - 6 : height / 2;
      context.lineWidth = 3;
      context.strokeStyle = "#000";
      context.strokeText(words, 6, at);
      context.fillStyle = "#fff";
      context.fillText(words, 6, at);
    }
  }
  const pick = (event: PointerEvent) => {
    const { height } = canvas.getBoundingClientRect();
    chosen(Math.min(times.length - 1, Math.max(0, Math.floor((event.offsetY / height) * times.length))));
  };
  canvas.addEventListener("pointerdown", pick);
  canvas.addEventListener("pointermove", (event) => { if (event.buttons) pick(event); });
  new ResizeObserver(draw).observe(canvas);

  const bar = h("canvas", { width: 128, height: 1, "aria-hidden": "true" });
  const legend = new ImageData(128, 1);
  for (let i = 0; i < 128; i++) legend.data.set([...shadeOf(i / 127), 255], 4 * i);
  bar.getContext("2d")?.putImageData(legend, 0, 0);
  return {
    element: h("div", {}, canvas, h("div", { class: "scale" }, significant(low), bar, significant(high))),
    mark(index) {
      marked = index;
      draw();
    },
  };
}
