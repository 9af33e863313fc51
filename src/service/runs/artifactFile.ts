import { type FileHandle, open } from "node:fs/promises";
import { ifThere } from "../../project/systemErrors.ts";
import type { OpenArtifact } from "./logStore.ts";

const chunkBytes = 64 * 1024;

/** Opens an artifact in its run's folder; undefined when it is not there. */
export async function openArtifactFile(path: string): Promise<OpenArtifact | undefined> {
  const handle = await ifThere(open(path, "r"));
  if (handle === undefined) return undefined;
  const { size } = await handle.stat();
  return {
    size,
    stream: (breakOff) => streamBytes(handle, breakOff),
    close: () => handle.close(),
  };
}

/** The file's bytes, read on demand. Closes the file at its end, and when the reader leaves. */
function streamBytes(handle: FileHandle, breakOff: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = new Uint8Array(chunkBytes);
        const { bytesRead } = await handle.read(piece).catch(() => {
          breakOff();
          return { bytesRead: 0 };
        });
        if (bytesRead > 0) return controller.enqueue(piece.subarray(0, bytesRead));
        await handle.close();
        controller.close();
      },
      cancel: () => handle.close(),
    },
    { highWaterMark: 0 },
  );
}
