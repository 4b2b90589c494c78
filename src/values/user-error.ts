/**
 * An error that users can fix. The command line prints its three sentences and no stack trace.
 * Anything else that reaches the command line is a bug.
 */
import { capitalize } from './format.ts'
import type { ProjectName } from './project.ts'

export class UserError extends Error {
  /** What failed: `cannot open the warehouse sqlite:/mnt/mirror.db`. */
  readonly what: string
  /** The cause: `the folder /mnt does not exist`. */
  readonly why: string
  /** How to fix it: `create the folder, or name another path in DESKMIRROR_DATABASE_URL`. */
  readonly next: string
  /** 1: trying again may help. 2, unless it is said: users must change something first. */
  readonly exitCode: 1 | 2

  /** Never put a secret into these texts: they are printed as they are. */
  constructor(
    texts: {
      readonly what: string
      readonly why: string
      readonly next: string
      readonly exitCode?: 1 | 2
    },
    options?: ErrorOptions,
  ) {
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

type SystemErrorText = {
  readonly why: string
  readonly next: string
  /** 1: trying again may help. 2: a person must change something first. */
  readonly exitCode: 1 | 2
}

/** Errors of the operating system as sentences. Source: errno(3), nodejs.org/api/errors.html. */
const systemErrors: readonly (readonly [RegExp, SystemErrorText])[] = [
  [/^ENOENT$/, { why: 'there is no such file or folder', next: 'check the path', exitCode: 2 }],
  // `mkdir` says EEXIST where a file has the name of the folder.
  [
    /^(ENOTDIR|EEXIST)$/,
    { why: 'a part of the path is not a folder', next: 'check the path', exitCode: 2 },
  ],
  [/^EISDIR$/, { why: 'it is a folder', next: 'name a file in it', exitCode: 2 }],
  [
    /^(EACCES|EPERM)$/,
    {
      why: 'permission denied',
      next: 'change its permissions, or run as the user that owns it',
      exitCode: 2,
    },
  ],
  [/^EROFS$/, { why: 'the file system is read-only', next: 'choose a writable path', exitCode: 2 }],
  [
    /^(ENOSPC|EDQUOT)$/,
    { why: 'the disk is full', next: 'free some space, and try again', exitCode: 1 },
  ],
  [
    /^EIO$/,
    { why: 'the disk reported an error', next: 'check the disk, and try again', exitCode: 1 },
  ],
  [
    /^(EMFILE|ENFILE)$/,
    { why: 'too many open files', next: 'raise the limit (ulimit -n), and try again', exitCode: 1 },
  ],
  [
    /^(ENOMEM|EAGAIN)$/,
    {
      why: 'memory or processes are exhausted',
      next: 'try again when other processes have ended',
      exitCode: 1,
    },
  ],
  [/^EADDRINUSE$/, { why: 'the port is in use', next: 'choose another port', exitCode: 2 }],
  [/^ENAMETOOLONG$/, { why: 'the name is too long', next: 'check the path', exitCode: 2 }],
]

/** Such as `/proc/kmsg`, which looks like a file. */
const endless: SystemErrorText = {
  why: 'it gives no data, and has no end',
  next: 'name a regular file',
  exitCode: 2,
}

/** Of the system or a driver, such as `ENOENT`; an empty text if the error has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** Undefined if it is not a system error, or not one of these. */
export function systemErrorText(error: unknown): SystemErrorText | undefined {
  const code = errorCode(error)
  if (code === 'EAGAIN' && error instanceof Error && 'syscall' in error && error.syscall === 'read')
    return endless
  return systemErrors.find(([pattern]) => pattern.test(code))?.[1]
}

/** The message of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
