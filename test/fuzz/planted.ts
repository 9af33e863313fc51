// What the tests of the search look for: it is loaded once counting has begun.

/** How far an input gets: each letter leads to a place of its own. */
export function depthOf(input: string): number {
  const at = input.indexOf("<");
  if (at === -1) return 0;
  if (input[at + 1] !== "0") return 1;
  if (input[at + 2] !== "]") return 2;
  if (input[at + 3] !== "x") return 3;
  return 4;
}

/** Work that grows with the square of the number of commas. */
export function workOf(input: string): number {
  let work = 0;
  const commas = input.split(",").length;
  for (let one = 0; one < commas; one++) {
    for (let other = 0; other < commas; other++) work += 1;
  }
  return work;
}
