import type { ServerResponse } from "node:http";
import { type Answer, LoopbackService } from "./loopbackService.ts";

/** A service whose `GET /api/events` stays open, and whose other answers a test gives. */
export class EventService implements AsyncDisposable {
  readonly service: LoopbackService;
  /** The streams that were opened, in their order; closed ones too. */
  readonly streams: ServerResponse[] = [];

  static async listen(answer: Answer = () => undefined): Promise<EventService> {
    const service = await LoopbackService.listen((asked, response, gone) => {
      if (asked.path !== "/api/events") return answer(asked, response, gone);
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      response.write(": welcome\n\n");
      events.streams.push(response);
    });
    const events = new EventService(service);
    return events;
  }

  private constructor(service: LoopbackService) {
    this.service = service;
  }

  /** Sends an event on the stream that was opened last. */
  send(event: string, data: unknown, id?: string): void {
    this.write(`${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  write(text: string): void {
    this.streams.at(-1)?.write(text);
  }

  /** The n-th stream is open. */
  async opened(count: number): Promise<void> {
    await this.service.until(() => this.streams.length === count);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.service[Symbol.asyncDispose]();
  }
}
