/** Tells a person how far a script is. Standard error, so that standard output holds only what was asked for. */
export type Say = (line: string) => void;

export const sayToStandardError: Say = (line) => {
  process.stderr.write(`${line}\n`);
};
