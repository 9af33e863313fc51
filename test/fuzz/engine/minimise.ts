/**
 * A shorter input that still fails in the same way: pieces are left out, halves first, then letters are made plain.
 * @param fails whether an input fails as the first did.
 * @param mostTries of `fails`, after which the shortest so far is taken.
 */
export async function minimise(
  input: string,
  fails: (input: string) => Promise<boolean>,
  mostTries: number,
): Promise<string> {
  let least = input;
  let tries = 0;
  const attempt = async (candidate: string): Promise<boolean> => {
    if (tries >= mostTries || candidate === least) return false;
    tries += 1;
    if (!(await fails(candidate))) return false;
    least = candidate;
    return true;
  };
  for (let before = ""; before !== least && tries < mostTries; ) {
    before = least;
    for (let size = Math.ceil(least.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let at = 0; at < least.length; ) {
        if (!(await attempt(least.slice(0, at) + least.slice(at + size)))) at += size;
      }
    }
  }
  for (let at = 0; at < least.length; at++) {
    if (!/[a\s]/.test(least.charAt(at))) await attempt(`${least.slice(0, at)}a${least.slice(at + 1)}`);
  }
  return least;
}
