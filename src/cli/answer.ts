/** The answer of a command: one document for machines, lines for people, and the verdict. */
import type { ProjectConfig } from '../config.ts'
import { UserError } from '../core/user-error.ts'
import type { ExitCode } from './exit.ts'
import { worst } from './exit.ts'
import type { Shell } from './shell.ts'
import type { Trouble } from './trouble.ts'
import { troubleLines, troubleOf } from './trouble.ts'

export type Answer = {
  readonly document: unknown
  readonly lines: readonly string[]
  readonly exit: ExitCode
  /** What went wrong on the way; printed to standard error. */
  readonly troubles?: readonly Trouble[]
}

/** Runs a command to its answer, prints that, and sets the exit code. Nothing that is thrown gets past here. */
export async function give(shell: Shell, json: boolean, command: () => Promise<Answer>): Promise<void> {
  const answer = await command().catch(failedAnswer)
  shell.exit(answer.exit)
  const lines = (answer.troubles ?? []).flatMap((trouble) => troubleLines(trouble, shell.stackTraces()))
  if (lines.length > 0) shell.err(`${lines.join('\n')}\n`)
  if (json) shell.out(`${JSON.stringify(answer.document, null, 2)}\n`)
  else if (answer.lines.length > 0) shell.out(`${answer.lines.join('\n')}\n`)
}

export type ProjectAnswer<T> = { readonly project: string; readonly report: T } | ProjectTrouble
export type ProjectTrouble = { readonly project: string; readonly trouble: Trouble }

/** Asks for each project in turn. One project's trouble is its own: the others go on. */
export async function eachProject<T>(
  projects: readonly ProjectConfig[],
  signal: AbortSignal | null,
  ask: (project: ProjectConfig) => Promise<T>,
): Promise<readonly ProjectAnswer<T>[]> {
  const answers: ProjectAnswer<T>[] = []
  for (const project of projects) {
    if (signal?.aborted && answers.length > 0) break
    answers.push(
      await ask(project).then(
        (report) => ({ project: project.name, report }),
        (error: unknown) => ({ project: project.name, trouble: troubleOf(error) }),
      ),
    )
  }
  return answers
}

/** Joins the answers of the projects; `show` gives one project's lines and verdict. */
export function joined<T>(
  answers: readonly ProjectAnswer<T>[],
  show: (report: T) => { readonly lines: readonly string[]; readonly exit: ExitCode },
): Answer {
  const shown = answers.map((answer) =>
    'report' in answer ? show(answer.report) : { lines: [], exit: answer.trouble.exitCode },
  )
  const several = answers.length > 1
  return {
    document: { projects: answers.map((answer) => ('report' in answer ? answer.report : troubleDocument(answer))) },
    lines: shown.flatMap(({ lines }) => lines),
    exit: worst(shown.map(({ exit }) => exit)),
    troubles: answers.flatMap((answer) => ('trouble' in answer ? [named(answer, several)] : [])),
  }
}

/** The projects that `--project` names; all of them without it. */
export function chosen(projects: readonly ProjectConfig[], name: string | undefined): readonly ProjectConfig[] {
  if (name === undefined) return projects
  const found = projects.filter((project) => project.name === name)
  if (found.length > 0) return found
  const why = `the configuration has ${projects.map((project) => project.name).join(', ')}`
  throw new UserError({ what: `there is no project ${name}`, why, next: 'name one of those', exitCode: 2 })
}

/** The one project that a command is about. `what`: what was not done, where it is not clear which. */
export function theOne(projects: readonly ProjectConfig[], name: string | undefined, what: string): ProjectConfig {
  const [project, ...others] = chosen(projects, name)
  if (project !== undefined && others.length === 0) return project
  const why = `this is about one project, and the configuration has ${projects.map((it) => it.name).join(', ')}`
  throw new UserError({ what, why, next: 'name one of those with --project', exitCode: 2 })
}

function troubleDocument({ project, trouble }: ProjectTrouble) {
  return { project, error: errorDocument(trouble) }
}

function errorDocument({ what, why, next, exitCode }: Trouble) {
  return { what, why, next, exitCode }
}

function failedAnswer(error: unknown): Answer {
  const trouble = troubleOf(error)
  return { document: { error: errorDocument(trouble) }, lines: [], exit: trouble.exitCode, troubles: [trouble] }
}

function named({ project, trouble }: ProjectTrouble, several: boolean): Trouble {
  return several ? { ...trouble, what: `${project}: ${trouble.what}` } : trouble
}
