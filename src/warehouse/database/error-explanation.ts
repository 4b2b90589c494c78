/** Explanations of database errors, in a table by error code. */

/** What happened, and what a person should do. */
export type ErrorExplanation = { readonly why: string; readonly next: string; readonly exitCode: 1 | 2 }

type TableEntry = readonly [RegExp, ErrorExplanation]

/** Explanations by code, or by the driver's message if it has no code; the first match counts. */
export type ExplanationTable = readonly TableEntry[]

/** Trying again may help. */
export const tryAgain = (code: RegExp, why: string, next: string): TableEntry => [code, { why, next, exitCode: 1 }]

/** A person must change something first. */
export const fixFirst = (code: RegExp, why: string, next: string): TableEntry => [code, { why, next, exitCode: 2 }]

export function lookUpExplanation(table: ExplanationTable, code: string): ErrorExplanation | undefined {
  return table.find(([pattern]) => pattern.test(code))?.[1]
}
