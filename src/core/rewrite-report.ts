/** What `migrate` did with rows that are stored in the form of an older version. */

/** Not complete: it was stopped, and the next one and each sync continue. */
export type RewriteReport = {
  readonly kind: 'sqlite' | 'postgres'
  readonly rows: number
  readonly isComplete: boolean
}
