/** Explanations of database errors, in a table by error code. */

/** What happened, and what a person should do. */
export type ErrorExplanation = {
  readonly why: string
  readonly next: string
  /** 1: trying again may help. 2: a person must change something first. */
  readonly exitCode: 1 | 2
}

/** Explanations by code, or by the driver's message if it has no code; the first match counts. */
export type ExplanationTable = readonly (readonly [RegExp, ErrorExplanation])[]

export function lookUpExplanation(table: ExplanationTable, code: string): ErrorExplanation | undefined {
  return table.find(([pattern]) => pattern.test(code))?.[1]
}
