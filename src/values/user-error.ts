/**
 * An error that users can fix. The command line prints its three sentences and no stack trace. Anything else that
 * reaches the command line is a bug.
 */
import type { ProjectName } from './project.ts'

export class UserError extends Error {
  /** What failed: `cannot open the warehouse sqlite:/mnt/mirror.db`. */
  readonly what: string
  /** The cause: `the folder /mnt does not exist`. */
  readonly why: string
  /** How to fix it: `create the folder, or name another path in DESKMIRROR_DATABASE_URL`. */
  readonly next: string
  /** 1: trying again may help. 2: users must change something first. */
  readonly exitCode: 1 | 2

  /** Never put a secret into these texts: they are printed as they are. */
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

/** A command as users type it, with its project if needed: `status` → `deskmirror status --project shop`. */
export type CommandHint = (command: string) => string

/** `project` null: the command needs no `--project`. */
export function commandHintFor(project: ProjectName | null): CommandHint {
  return (command) => `deskmirror ${command}${project === null ? '' : ` --project ${project}`}`
}

/** `projects`: all configured ones. */
export function projectCommandHint(projects: readonly unknown[], project: ProjectName): CommandHint {
  return commandHintFor(projects.length > 1 ? project : null)
}

/** Closes a switch over a union: a missing case does not compile, and throws if it occurs at run time. */
export function assertNever(value: never): never {
  throw new Error(`unexpected member of a closed union: ${JSON.stringify(value)}`)
}
