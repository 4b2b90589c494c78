/** The result of a command: a document for machines, lines for people, and the exit code. */
import type { Config, ProjectConfig } from '../config/config.ts'
import type { ConfigNeeds } from '../config/setting.ts'
import type { ProjectName } from '../values/project.ts'
import { type CommandHint, projectCommandHint, UserError } from '../values/user-error.ts'
import type { CommandContext } from './command-context.ts'
import { type ErrorExplanation, type ExitCode, explainError, renderError, worstExitCode } from './explain-error.ts'

export type CommandResult = {
  readonly document: unknown
  readonly lines: readonly string[]
  readonly exit: ExitCode
  /** Errors on the way; printed to standard error. */
  readonly errors?: readonly ErrorExplanation[]
}

/** Runs a command, prints its result, and sets the exit code. Catches everything that it throws. */
export async function runAndPrint(
  context: CommandContext,
  { json }: { readonly json?: true },
  run: () => Promise<CommandResult>,
): Promise<void> {
  const result = await run().catch(toFailedResult)
  context.setExitCode(result.exit)
  const lines = (result.errors ?? []).flatMap((error) => renderError(error, context.wantsStackTraces()))
  if (lines.length > 0) context.writeErr(`${lines.join('\n')}\n`)
  if (json === true) context.writeOut(`${JSON.stringify(result.document, null, 2)}\n`)
  else if (result.lines.length > 0) context.writeOut(`${result.lines.join('\n')}\n`)
}

/** `hint`: writes a command as it has to be typed for this project. */
export type ProjectCall = { readonly config: Config; readonly project: ProjectConfig; readonly hint: CommandHint }

/** Runs a command that is about one project. `what`: the message if it is unclear which. */
export function runForProject(
  context: CommandContext,
  options: { readonly project?: ProjectName; readonly json?: true },
  { what, needs = 'mirror' }: { readonly what: string; readonly needs?: ConfigNeeds },
  run: (call: ProjectCall) => Promise<CommandResult>,
): Promise<void> {
  return runAndPrint(context, options, async () => {
    const config = context.loadConfig(needs)
    const project = selectOneProject(config.projects, options.project, what)
    return run({ config, project, hint: projectCommandHint(config.projects, project.name) })
  })
}

export type ProjectResult<T> =
  | { readonly project: ProjectName; readonly report: T }
  | { readonly project: ProjectName; readonly error: ErrorExplanation }

/** Runs for each project one after the other. An error of one project does not stop the others. */
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
        (error: unknown) => ({ project: project.name, error: explainError(error) }),
      ),
    )
  }
  return results
}

/** Joins the results of the projects; `render` gives one project's lines and exit code. */
export function joinResults<T>(
  results: readonly ProjectResult<T>[],
  render: (report: T) => { readonly lines: readonly string[]; readonly exit: ExitCode },
): CommandResult {
  const joined = results.map((result) => {
    if ('report' in result) return { document: result.report, errors: [], ...render(result.report) }
    const { project, error } = result
    const named = results.length > 1 ? { ...error, what: `${project}: ${error.what}` } : error
    return { document: { project, error: errorDocument(error) }, errors: [named], lines: [], exit: error.exitCode }
  })
  return {
    document: { projects: joined.map(({ document }) => document) },
    lines: joined.flatMap(({ lines }) => lines),
    exit: worstExitCode(joined.map(({ exit }) => exit)),
    errors: joined.flatMap(({ errors }) => errors),
  }
}

/** The projects that `--project` selects; all of them without it. */
export function selectProjects(projects: readonly ProjectConfig[], name: string | undefined): readonly ProjectConfig[] {
  if (name === undefined) return projects
  const matching = projects.filter((project) => project.name === name)
  if (matching.length > 0) return matching
  const why = `the configuration has ${projects.map((project) => project.name).join(', ')}`
  throw new UserError({ what: `there is no project ${name}`, why, next: 'name one of those', exitCode: 2 })
}

/** The one project of a command. `what`: the message if the choice is ambiguous. */
export function selectOneProject(
  projects: readonly ProjectConfig[],
  name: string | undefined,
  what: string,
): ProjectConfig {
  const [project, ...others] = selectProjects(projects, name)
  if (project !== undefined && others.length === 0) return project
  const why = `this needs one project, and the configuration has ${projects.map((other) => other.name).join(', ')}`
  throw new UserError({ what, why, next: 'name one of those with --project', exitCode: 2 })
}

function errorDocument({ what, why, next, exitCode }: ErrorExplanation) {
  return { what, why, next, exitCode }
}

function toFailedResult(error: unknown): CommandResult {
  const explanation = explainError(error)
  const document = { error: errorDocument(explanation) }
  return { document, lines: [], exit: explanation.exitCode, errors: [explanation] }
}
