/** The verdict of a command, as its exit code. */

/** 0 done · 1 failed, trying again may help · 2 a person must change something · 3 done, with gaps or skipped streams. */
export type ExitCode = 0 | 1 | 2 | 3

/** What weighs more comes first: where a person is needed, nothing else matters until they have come. */
const bySeverity = [2, 1, 3, 0] as const

/** The verdict over several projects. */
export function worstExitCode(codes: readonly ExitCode[]): ExitCode {
  return bySeverity.find((code) => codes.includes(code)) ?? 0
}
