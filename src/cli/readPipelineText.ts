import { addAbortSignal, type Readable } from "node:stream";
import { mostBytesRead } from "../client/pipelineFiles/readPipelineFile.ts";

/** What a stream holds, of a longer one just so much that the parser finds it too long. @throws the signal's reason. */
export async function readPipelineText(stream: Readable, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  addAbortSignal(signal, stream);
  try {
    for await (const chunk of stream) {
      const read: Buffer = Buffer.from(chunk);
      chunks.push(read);
      bytes += read.length;
      if (bytes >= mostBytesRead) break;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  return Buffer.concat(chunks).toString("utf8");
}
