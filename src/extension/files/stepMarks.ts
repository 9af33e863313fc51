import { createHash } from "node:crypto";

/** What the editor keeps for a workspace. */
interface Store {
  get(name: string): unknown;
  update(name: string, value: unknown): Thenable<void>;
}

const key = "failedSteps";
const kept = 100;

/**
 * Remembers how the step of a failed run read when the failure was first shown, so that an edited step isn't blamed any
 * more, also after the window was loaded anew. Only fingerprints are kept, no texts.
 */
export class StepMarks {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Whether the step still reads as when this was first asked of the run. */
  isUnchanged(runId: string, text: string): boolean {
    const mark = createHash("sha256").update(text).digest("base64url").slice(0, 16);
    const marks = this.#marks();
    const known = marks.find(([id]) => id === runId);
    if (known !== undefined) return known[1] === mark;
    void this.#store.update(key, [[runId, mark], ...marks].slice(0, kept));
    return true;
  }

  #marks(): readonly (readonly [runId: string, mark: string])[] {
    const value = this.#store.get(key);
    if (!Array.isArray(value)) return [];
    return value.flatMap((entry: unknown): [string, string][] => {
      const [runId, mark]: unknown[] = Array.isArray(entry) ? entry : [];
      return typeof runId === "string" && typeof mark === "string" ? [[runId, mark]] : [];
    });
  }
}
