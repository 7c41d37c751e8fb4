// What the service answers, and how it is asked.
export interface Formula { text: string; latex: string }
export interface Understood extends Formula { variable: string; lower?: Formula | null; upper?: Formula | null }
export interface Verification { status: "proved" | "numeric" | "refuted"; method: string; elapsed_ms: number; assumptions?: string[] }
export interface Parsed {
  input: Understood;
  question: Formula;
  symbols: string[];
  interval: { lower: number | null; upper: number | null } | null;
}
export interface Answer {
  status: "solved" | "unsolved";
  input: Understood;
  answer: Formula | null;
  source: "model" | "sympy" | null;
  verification: Verification | null;
  model: { name: string; version: string } | null;
  cached: boolean;
  timing_ms: Record<string, number>;
  reason?: string;
  constant?: string | null;
  value?: number | string | null;
  error_estimate?: number | null;
  convergence?: string | null;
  principal_value?: Formula | null;
  assumptions?: string[];
  cases?: { condition: string; answer: Formula | null; note: string }[];
  functions?: string[];
}
export interface Sampled {
  x: number[];
  curves: { values: (number | null)[] | null; reason: string | null }[];
  parameters: Record<string, number>;
}
export interface Step { rule: string; depth: number; latex: string; check: string }
export interface Steps { sections: { title: string; steps: Step[] }[]; notes: string[] }
export interface HeatAnswer {
  status: "solved" | "unsolved";
  input: { initial_condition: Formula | string; alpha: number; length: number; notes: string[] };
  x: number[];
  times: number[];
  u: number[][];
  source: "model" | "spectral" | null;
  verification: (Verification & { relative_l2: (number | null)[]; max_abs: (number | null)[]; reference: string; maximum_principle: boolean | null }) | null;
  closed_form: (Formula & { exact: boolean; terms: number; checks: Record<string, string> }) | null;
  model: { name: string; version: string; part: string } | null;
  cached: boolean;
  timing_ms: Record<string, number>;
  reason?: string;
}

/** RFC 9457 problem details. */
export interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  code?: string;
  position?: number | null;
  hint?: string;
  symbols?: string[];
  errors?: { field: string; message: string }[];
}

export class Problem extends Error {
  constructor(public body: ProblemBody) {
    super(body.detail || body.title);
  }
  get slug(): string {
    return this.body.type.split("/").pop() ?? "";
  }
}

const KEY = "calcert-api-key";

/** Keep the key of this service for as long as the tab is open. */
export function setKey(key: string): void {
  sessionStorage.setItem(KEY, key);
}

/** POST JSON. Throws Problem for what the service refuses, AbortError when cancelled. */
export async function post<T>(address: string, body: unknown, signal?: AbortSignal, waiting?: (why: string) => void): Promise<T> {
  return JSON.parse(await postText(address, body, "application/json", signal, waiting)) as T;
}

/** A service that starts, or is busy, says when to come back; this many times it is believed. */
const PATIENCE = 40;
const RETRIED = [429, 503];

/** POST JSON and take the answer in another form; `waiting` is told while the service is not ready. */
export async function postText(address: string, body: unknown, accept: string, signal?: AbortSignal, waiting?: (why: string) => void): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const response = await send(address, body, accept, signal);
    const text = await response.text();
    if (response.ok) return text;
    const problem = new Problem(read(text, response));
    const seconds = Number(response.headers.get("Retry-After") ?? NaN);
    if (attempt >= PATIENCE || !RETRIED.includes(response.status) || !(seconds <= 10)) throw problem;
    waiting?.(problem.message);
    await pause(1000 * Math.max(0.25, seconds), signal);
  }
}

async function send(address: string, body: unknown, accept: string, signal?: AbortSignal): Promise<Response> {
  const key = sessionStorage.getItem(KEY);
  const headers: Record<string, string> = { "Content-Type": "application/json", Accept: accept };
  if (key) headers["X-API-Key"] = key;
  try {
    return await fetch(address, { method: "POST", headers, body: JSON.stringify(body), signal });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new Problem({ type: "/problems/offline", title: "The service cannot be reached", status: 0, detail: "The service cannot be reached. Is it still running?" });
  }
}

function read(text: string, response: Response): ProblemBody {
  try {
    return JSON.parse(text) as ProblemBody;
  } catch {
    return { type: "/problems/unreadable", title: response.statusText, status: response.status, detail: `The service answered ${response.status}.` };
  }
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("stopped", "AbortError"));
    });
  });
}

/** The same request for a terminal. */
export function curl(address: string, body: unknown): string {
  const data = JSON.stringify(body).replace(/'/g, "'\\''");
  return `curl -s ${location.origin}${address} -H 'Content-Type: application/json' -d '${data}'`;
}
