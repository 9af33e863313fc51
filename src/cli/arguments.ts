import { InvalidArgumentError } from "commander";

/** Reads a whole number within bounds. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It should be a whole number from ${least} to ${most}.`);
  };
}

/** Reads a name of anything: of so many characters at most, none of them a control character. */
export function name(text: string): string {
  return nameOf(text, 200);
}

/** Gathers one name after the other. */
export function names(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), name(text)];
}

/** Reads what a key is called. */
export function keyName(text: string): string {
  return nameOf(text, 100);
}

function nameOf(text: string, longest: number): string {
  if (text.trim() !== "" && text.length <= longest && !/\p{Cc}/u.test(text)) return text;
  throw new InvalidArgumentError(`A name has 1 to ${longest} characters, none of them a control character.`);
}
