/**
 * An error that a person can do something about. Whoever throws it has understood what is wrong; the command line prints
 * its three sentences and no stack trace. Anything else that reaches the command line is a bug.
 */
export class UserError extends Error {
  /** What did not work: `cannot open the warehouse sqlite:/mnt/desk.db`. */
  readonly what: string
  /** What was found: `the folder /mnt does not exist`. */
  readonly why: string
  /** What to do now: `create the folder, or set DESKMIRROR_DATABASE_URL to another path`. */
  readonly next: string
  /** 1: trying again may help. 2: a person must change something first. */
  readonly exitCode: 1 | 2

  /** Never put a secret into one of the texts: they are printed as they are. */
  constructor(
    texts: { readonly what: string; readonly why: string; readonly next: string; readonly exitCode: 1 | 2 },
    options?: ErrorOptions,
  ) {
    super(`${texts.what}: ${texts.why}`, options)
    this.name = 'UserError'
    this.what = texts.what
    this.why = texts.why
    this.next = texts.next
    this.exitCode = texts.exitCode
  }
}
