/**
 * An error that users can fix. The command line prints its three sentences and no stack trace.
 * Anything else that reaches the command line is a bug.
 */
import { capitalize } from './format.ts'
import type { ProjectName } from './project.ts'

/** Never put a secret into these texts: they are printed as they are. */
export type ErrorTexts = {
  /** What failed: `cannot open the warehouse sqlite:/mnt/mirror.db`. */
  readonly what: string
  /** The cause: `the folder /mnt does not exist`. */
  readonly why: string
  /** How to fix it: `create the folder, or name another path in DESKMIRROR_DATABASE_URL`. */
  readonly next: string
  /** 1: trying again may help. 2, unless it is said: users must change something first. */
  readonly exitCode?: 1 | 2
}

export class UserError extends Error {
  readonly what: ErrorTexts['what']
  readonly why: ErrorTexts['why']
  readonly next: ErrorTexts['next']
  readonly exitCode: 1 | 2

  constructor(texts: ErrorTexts, options?: ErrorOptions) {
    super(`${texts.what}: ${texts.why}`, options)
    this.name = 'UserError'
    this.what = texts.what
    this.why = texts.why
    this.next = texts.next
    this.exitCode = texts.exitCode ?? 2
  }
}

/** For a page. */
export const toSentences = ({ message, next }: UserError): string =>
  `${message}. ${capitalize(next)}.`

/**
 * A command as users type it, with its project if needed: `status` → `deskmirror status --project
 * shop`.
 */
export type CommandHint = (command: string) => string

/** `project` null: the command needs no `--project`. */
export function commandHintFor(project: ProjectName | null): CommandHint {
  return (command) => `deskmirror ${command}${project === null ? '' : ` --project ${project}`}`
}

/** `projects`: all configured ones. */
export function projectCommandHint(
  projects: readonly unknown[],
  project: ProjectName,
): CommandHint {
  return commandHintFor(projects.length > 1 ? project : null)
}

/**
 * Closes a switch over a union: a missing case does not compile, and throws if it occurs at run
 * time.
 */
export function assertNever(value: never): never {
  throw new Error(`unexpected member of a closed union: ${JSON.stringify(value)}`)
}

export type Explanation = Omit<Required<ErrorTexts>, 'what'>

/** Explanations by code, or by the driver's message if it has no code; the first match counts. */
export type ExplanationTable = readonly (readonly [RegExp, Explanation])[]

const explanation =
  (exitCode: 1 | 2) =>
  (code: RegExp, why: string, next: string): ExplanationTable[number] => [
    code,
    { why, next, exitCode },
  ]

export const tryAgain = explanation(1)
export const fixFirst = explanation(2)

export function lookUpExplanation(table: ExplanationTable, code: string): Explanation | undefined {
  return table.find(([pattern]) => pattern.test(code))?.[1]
}

/** Errors of the operating system as sentences. Source: errno(3), nodejs.org/api/errors.html. */
const systemErrors: ExplanationTable = [
  fixFirst(/^ENOENT$/, 'there is no such file or folder', 'check the path'),
  // `mkdir` says EEXIST where a file has the name of the folder.
  fixFirst(/^(ENOTDIR|EEXIST)$/, 'a part of the path is not a folder', 'check the path'),
  fixFirst(/^EISDIR$/, 'it is a folder', 'name a file in it'),
  fixFirst(
    /^(EACCES|EPERM)$/,
    'permission denied',
    'change its permissions, or run as the user that owns it',
  ),
  fixFirst(/^EROFS$/, 'the file system is read-only', 'choose a writable path'),
  tryAgain(/^(ENOSPC|EDQUOT)$/, 'the disk is full', 'free some space, and try again'),
  tryAgain(/^EIO$/, 'the disk reported an error', 'check the disk, and try again'),
  tryAgain(
    /^(EMFILE|ENFILE)$/,
    'too many open files',
    'raise the limit (ulimit -n), and try again',
  ),
  tryAgain(
    /^(ENOMEM|EAGAIN)$/,
    'memory or processes are exhausted',
    'try again when other processes have ended',
  ),
  fixFirst(/^EADDRINUSE$/, 'the port is in use', 'choose another port'),
  fixFirst(/^ENAMETOOLONG$/, 'the name is too long', 'check the path'),
]

/** Such as `/proc/kmsg`, which looks like a file. */
const endless: Explanation = {
  why: 'it gives no data, and has no end',
  next: 'name a regular file',
  exitCode: 2,
}

/** Undefined if it is not a system error, or not one of these. */
export function systemErrorText(error: unknown): Explanation | undefined {
  const code = errorCode(error)
  if (code === 'EAGAIN' && error instanceof Error && 'syscall' in error && error.syscall === 'read')
    return endless
  return lookUpExplanation(systemErrors, code)
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Of the system, a driver or a library, such as `ENOENT`; an empty text if the error has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : ''
}
