interface Version {
  readonly numbers: readonly number[];
  /** Before its release: `0.5.0-beta.1`. */
  readonly isEarly: boolean;
}

/**
 * Whether a version comes before another by its numbers, as `0.9.1` before `0.10.0`. What is no version, or isn't known,
 * is neither older nor newer, and neither are two early ones of the same release.
 */
export function isOlder(one: string | undefined, other: string | undefined): boolean {
  const [first, second] = [parse(one), parse(other)];
  if (first === undefined || second === undefined) return false;
  for (const [index, number] of first.numbers.entries()) {
    const difference = number - (second.numbers[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return first.isEarly && !second.isEarly;
}

function parse(version: string | undefined): Version | undefined {
  const [, numbers, early] = /^(\d+\.\d+\.\d+)(-[\w.-]+)?(?:\+[\w.-]+)?$/.exec(version ?? "") ?? [];
  if (numbers === undefined) return undefined;
  return { numbers: numbers.split(".").map(Number), isEarly: early !== undefined };
}
