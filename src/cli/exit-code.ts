/** The exit codes of commands. */

/** 0 done · 1 failed, trying again may help · 2 a person must change something · 3 done, with gaps or skipped streams. */
export type ExitCode = 0 | 1 | 2 | 3

/** The most severe first: what a person must change cannot be fixed by trying again. */
const bySeverity = [2, 1, 3, 0] as const

/** The exit code over several projects. */
export function worstExitCode(codes: readonly ExitCode[]): ExitCode {
  return bySeverity.find((code) => codes.includes(code)) ?? 0
}
