/** What can be done about an error of a database: what happened, and what a person should do. */
export type ErrorExplanation = {
  readonly why: string
  readonly next: string
  /** 1: trying again may help. 2: a person must change something first. */
  readonly exitCode: 1 | 2
}

/** Codes, or the words of a driver that has none, and what they mean; the first that fits counts. */
export type ExplanationTable = readonly (readonly [RegExp, ErrorExplanation])[]

export function lookUpExplanation(table: ExplanationTable, code: string): ErrorExplanation | undefined {
  return table.find(([pattern]) => pattern.test(code))?.[1]
}
