/** Whether a text contains no statement: only white space, comments and semicolons. */
export function isBlank(text: string): boolean {
  return startOf(text) === text.length;
}

/**
 * The keyword of a statement that begins or ends a transaction. In a list of statements, which is a transaction itself,
 * it would end that too early. @returns undefined for any other statement.
 */
export function transactionWord(text: string): string | undefined {
  const statement = text.slice(startOf(text));
  const [prepare] = /^prepare\s+transaction(?![a-z])/i.exec(statement) ?? [];
  if (prepare !== undefined) return prepare.replace(/\s+/, " ");
  // A rollback to a savepoint ends no transaction.
  if (/^rollback(?:\s+(?:work|transaction))?\s+to\b/i.test(statement)) return undefined;
  return /^(?:begin|start|commit|end|abort|rollback)(?![a-z])/i.exec(statement)?.[0];
}

/** Where the first statement begins. */
export function startOf(text: string): number {
  let start = 0;
  for (;;) {
    const end = endOfNothing(text, start);
    if (end === start) return start;
    start = end;
  }
}

function endOfNothing(text: string, start: number): number {
  if (text.startsWith("--", start) || text.startsWith("#", start)) return endAfter(text, "\n", start);
  // MySQL and MariaDB run what is in `/*! */`.
  if (/^\/\*(?!M?!)/.test(text.slice(start, start + 4))) return endAfter(text, "*/", start + 2);
  return /[\s;]/.test(text.charAt(start)) ? start + 1 : start;
}

function endAfter(text: string, mark: string, start: number): number {
  const found = text.indexOf(mark, start);
  return found === -1 ? text.length : found + mark.length;
}
