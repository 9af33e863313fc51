/** What is known of where a reader is in a document that grows. Lines count from 0. */
export interface ReaderPlace {
  readonly isAtEnd: boolean;
  /** The first line in view when last looked. */
  readonly first: number;
}

export interface View {
  readonly first: number;
  readonly last: number;
  readonly lineCount: number;
}

/**
 * Where a reader is after the view has changed. The document may have grown below the view since: so long as the reader has
 * not gone up, one who was at the end still is.
 */
export function movedReader(before: ReaderPlace | undefined, { first, last, lineCount }: View): ReaderPlace {
  const sees = last >= lineCount - 2;
  const wentUp = before !== undefined && first < before.first;
  return { isAtEnd: sees || (before?.isAtEnd === true && !wentUp), first };
}
