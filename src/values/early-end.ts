/** How work ended before its end. What it did is stored, and the work continues there. */
export type EarlyEnd =
  /** It was asked to end: the next run continues. */
  | 'interrupted'
  /** Its time slice is over: it continues behind what waits by then. */
  | 'more'
  /** Something else comes first: other work has to end, or a person has to act. */
  | 'blocked'
