import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Mask } from "./mask.ts";
import type { Message } from "./protocol.ts";
import type { NewArtifact, StepLog } from "./stepOutcome.ts";

interface RecordDeps {
  readonly tell: (message: Message) => void;
  readonly now: () => Date;
  readonly mask: Mask;
  readonly artifactsFolder: string;
}

/** What is kept of one step: its log and its artifacts. `index` counts the pipeline's steps from 0. */
export function stepRecord(
  index: number,
  { tell, now, mask, artifactsFolder }: RecordDeps,
): { readonly log: StepLog; readonly keep: (artifact: NewArtifact) => Promise<void> } {
  let kept = 0;
  return {
    log: {
      write: (stream, text) => tell({ kind: "output", index, at: now().toISOString(), stream, text }),
      note: (line) => {
        const text = `${mask.hide(line)}\n`;
        tell({ kind: "output", index, at: now().toISOString(), stream: "note", text });
      },
    },
    async keep({ name, mediaType, content }) {
      const bytes = typeof content === "string" ? Buffer.from(mask.hide(content)) : content;
      kept += 1;
      const file = `${index}-${kept}`;
      await mkdir(artifactsFolder, { recursive: true, mode: 0o700 });
      await writeFile(join(artifactsFolder, file), bytes, { mode: 0o600 });
      const at = now().toISOString();
      tell({ kind: "artifact", index, at, name, file, mediaType, bytes: bytes.length });
    },
  };
}
