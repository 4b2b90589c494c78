/** The answer of a command: one document for machines, lines for people, and the verdict. */
import type { ProjectConfig } from '../config/load.ts'
import { UserError } from '../core/user-error.ts'
import type { ExitCode } from './exit-code.ts'
import { worstExitCode } from './exit-code.ts'
import type { CommandContext } from './command-context.ts'
import type { ErrorExplanation } from './explain-error.ts'
import { renderError, explainError } from './explain-error.ts'

export type CommandResult = {
  readonly document: unknown
  readonly lines: readonly string[]
  readonly exit: ExitCode
  /** What went wrong on the way; printed to standard error. */
  readonly errors?: readonly ErrorExplanation[]
}

/** Runs a command to its answer, prints that, and sets the exit code. Nothing that is thrown gets past here. */
export async function runAndPrint(context: CommandContext, json: boolean, run: () => Promise<CommandResult>): Promise<void> {
  const result = await run().catch(toFailedResult)
  context.setExitCode(result.exit)
  const lines = (result.errors ?? []).flatMap((trouble) => renderError(trouble, context.wantsStackTraces()))
  if (lines.length > 0) context.writeErr(`${lines.join('\n')}\n`)
  if (json) context.writeOut(`${JSON.stringify(result.document, null, 2)}\n`)
  else if (result.lines.length > 0) context.writeOut(`${result.lines.join('\n')}\n`)
}

export type ProjectResult<T> = { readonly project: string; readonly report: T } | ProjectFailure
export type ProjectFailure = { readonly project: string; readonly trouble: ErrorExplanation }

/** Asks for each project in turn. One project's trouble is its own: the others go on. */
export async function forEachProject<T>(
  projects: readonly ProjectConfig[],
  signal: AbortSignal | null,
  run: (project: ProjectConfig) => Promise<T>,
): Promise<readonly ProjectResult<T>[]> {
  const results: ProjectResult<T>[] = []
  for (const project of projects) {
    if (signal?.aborted && results.length > 0) break
    results.push(
      await run(project).then(
        (report) => ({ project: project.name, report }),
        (error: unknown) => ({ project: project.name, trouble: explainError(error) }),
      ),
    )
  }
  return results
}

/** Joins the answers of the projects; `show` gives one project's lines and verdict. */
export function joinResults<T>(
  results: readonly ProjectResult<T>[],
  render: (report: T) => { readonly lines: readonly string[]; readonly exit: ExitCode },
): CommandResult {
  const rendered = results.map((answer) =>
    'report' in answer ? render(answer.report) : { lines: [], exit: answer.trouble.exitCode },
  )
  const several = results.length > 1
  return {
    document: { projects: results.map((answer) => ('report' in answer ? answer.report : failureDocument(answer))) },
    lines: rendered.flatMap(({ lines }) => lines),
    exit: worstExitCode(rendered.map(({ exit }) => exit)),
    errors: results.flatMap((answer) => ('trouble' in answer ? [withProjectName(answer, several)] : [])),
  }
}

/** The projects that `--project` names; all of them without it. */
export function selectProjects(projects: readonly ProjectConfig[], name: string | undefined): readonly ProjectConfig[] {
  if (name === undefined) return projects
  const matching = projects.filter((project) => project.name === name)
  if (matching.length > 0) return matching
  const why = `the configuration has ${projects.map((project) => project.name).join(', ')}`
  throw new UserError({ what: `there is no project ${name}`, why, next: 'name one of those', exitCode: 2 })
}

/** The one project that a command is about. `what`: what was not done, where it is not clear which. */
export function selectOneProject(projects: readonly ProjectConfig[], name: string | undefined, what: string): ProjectConfig {
  const [project, ...others] = selectProjects(projects, name)
  if (project !== undefined && others.length === 0) return project
  const why = `this is about one project, and the configuration has ${projects.map((it) => it.name).join(', ')}`
  throw new UserError({ what, why, next: 'name one of those with --project', exitCode: 2 })
}

function failureDocument({ project, trouble }: ProjectFailure) {
  return { project, error: errorDocument(trouble) }
}

function errorDocument({ what, why, next, exitCode }: ErrorExplanation) {
  return { what, why, next, exitCode }
}

function toFailedResult(error: unknown): CommandResult {
  const explanation = explainError(error)
  return { document: { error: errorDocument(explanation) }, lines: [], exit: explanation.exitCode, errors: [explanation] }
}

function withProjectName({ project, trouble }: ProjectFailure, several: boolean): ErrorExplanation {
  return several ? { ...trouble, what: `${project}: ${trouble.what}` } : trouble
}
