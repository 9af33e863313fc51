/** What a terminal shows: enough of one to see what becomes of lines that are drawn over. */
export class Screen {
  readonly lines: string[] = [""];
  isCursorShown = true;
  /** Whether any line was longer than the terminal is wide. */
  hasWrapped = false;
  readonly #columns: number;
  #row = 0;
  #column = 0;

  constructor(columns: number) {
    this.#columns = columns;
  }

  write(text: string): this {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a terminal is driven by.
    for (const [piece, parameter = "", command] of text.matchAll(/\u001b\[([?\d;]*)([A-Za-z])|[\s\S]/gu)) {
      if (command !== undefined) this.#obey(command, parameter);
      else this.#put(piece);
    }
    return this;
  }

  get text(): string {
    return this.lines.map((line) => line.trimEnd()).join("\n");
  }

  #put(character: string): void {
    if (character === "\r") this.#column = 0;
    else if (character === "\n") {
      this.#row += 1;
      this.lines[this.#row] ??= "";
    } else {
      if (this.#column >= this.#columns) {
        this.hasWrapped = true;
        this.#put("\r");
        this.#put("\n");
      }
      const line = (this.lines[this.#row] ?? "").padEnd(this.#column);
      this.lines[this.#row] = line.slice(0, this.#column) + character + line.slice(this.#column + 1);
      this.#column += 1;
    }
  }

  #obey(command: string, parameter: string): void {
    if (command === "A") this.#row = Math.max(0, this.#row - Number(parameter || 1));
    else if (command === "K" || command === "J") {
      this.lines[this.#row] = (this.lines[this.#row] ?? "").slice(0, this.#column);
      if (command === "J") this.lines.length = this.#row + 1;
    } else if (parameter === "?25") this.isCursorShown = command === "h";
    else if (command !== "m") throw new Error(`a terminal was told ${parameter}${command}`);
  }
}
