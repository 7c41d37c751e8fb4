// Builds the page into service/static and prints what a visitor downloads, compressed.
import { readFile, writeFile, rm, mkdir, readdir } from "node:fs/promises";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "static");
const LIMIT = 500 * 1024;

// Our LaTeX needs these; browsers of today all read woff2.
const FONTS = /KaTeX_(Main|Math|AMS|Size[1-4])-/;
const katexFonts = {
  name: "katex-fonts",
  setup(builder) {
    builder.onLoad({ filter: /katex\.css$/ }, async ({ path }) => {
      const css = (await readFile(path, "utf8")).replace(/@font-face\s*\{[^}]*\}/g, (face) => {
        const url = face.match(/url\(([^)]*\.woff2)\)/)?.[1];
        if (!url || !FONTS.test(url)) return "";
        return face.replace(/src:[^;}]*/, `src: url(${url}) format("woff2")`);
      });
      return { contents: css, loader: "css" };
    });
  },
};

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const result = await build({
  entryPoints: { page: join(here, "src/main.ts") },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2021",
  legalComments: "none",
  outdir: out,
  entryNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".woff2": "file" },
  publicPath: "/static",
  plugins: [katexFonts],
  metafile: true,
});
const named = (suffix) =>
  Object.keys(result.metafile.outputs)
    .map((path) => path.split("/").pop())
    .find((name) => name.startsWith("page-") && name.endsWith(suffix));
const html = (await readFile(join(here, "src/index.html"), "utf8"))
  .replace("page.js", `/static/${named(".js")}`)
  .replace("page.css", `/static/${named(".css")}`);
await writeFile(join(out, "index.html"), html);
await writeFile(join(out, "icon.svg"), await readFile(join(here, "src/icon.svg")));
const licences = await Promise.all(
  [["KaTeX", "katex"], ["uPlot", "uplot"]].map(async ([name, folder]) =>
    `${name}\n\n${await readFile(join(here, "node_modules", folder, "LICENSE"), "utf8")}`),
);
await writeFile(join(out, "licences.txt"), licences.join("\n\n"));

// a test compares this with the sources, so that nobody forgets to build
const digest = createHash("sha256");
for (const name of (await readdir(join(here, "src"))).sort()) {
  digest.update(await readFile(join(here, "src", name)));
}
digest.update(await readFile(join(here, "package-lock.json")));
await writeFile(join(out, "sources.txt"), `${digest.digest("hex")}\n`);

let total = 0;
for (const name of (await readdir(out)).sort()) {
  const content = await readFile(join(out, name));
  const size = name.endsWith(".woff2") ? content.length : gzipSync(content).length;
  total += size;
  console.log(`${(size / 1024).toFixed(1).padStart(7)} KB  ${name}`);
}
console.log(`${(total / 1024).toFixed(1).padStart(7)} KB  in total, compressed`);
if (total > LIMIT) {
  console.error(`over the limit of ${LIMIT / 1024} KB`);
  process.exit(1);
}
